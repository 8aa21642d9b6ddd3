import Foundation
import HTTPRules
import Hummingbird
import NIOCore

/// What a request to the service has.
struct OrderContext: ConnectedContext {
  var coreContext: CoreRequestContextStorage
  /// The connection.
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
  }

  /// The encoder of all answers.
  var responseEncoder: JSONEncoder { .answers }
}
