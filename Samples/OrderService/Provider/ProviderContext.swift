import Foundation
import HTTPRules
import Hummingbird
import NIOCore

/// What a request to the provider has: also its connection, which a lost answer closes.
struct ProviderContext: ConnectedContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
  }

  /// The same answer has the same bytes.
  var responseEncoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return encoder
  }

  /// Small: no request has more than a few fields.
  var maxUploadSize: Int { 16_384 }
}
