import Foundation
import Hummingbird

/// What a request to the service has.
struct OrderContext: RequestContext {
  var coreContext: CoreRequestContextStorage

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
  }

  /// The encoder of all answers.
  var responseEncoder: JSONEncoder { .answers }
}
