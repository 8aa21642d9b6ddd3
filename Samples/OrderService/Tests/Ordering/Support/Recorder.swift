import Synchronization

/// Texts, in the order in which they came.
final class Recorder: Sendable {
  private let texts = Mutex<[String]>([])

  var values: [String] { texts.withLock { $0 } }

  func append(_ text: String) { texts.withLock { $0.append(text) } }
}
