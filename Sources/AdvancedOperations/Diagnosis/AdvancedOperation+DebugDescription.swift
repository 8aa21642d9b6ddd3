import CoreOperations

extension AdvancedOperation {
  /// What the operation waits for, in one line; nil when nothing visible keeps it.
  final var textOfWaits: String? {
    let waits = waitsInDetail
    if waits.isEmpty { return nil }
    let now = environment.clock.now
    return waits.map { finding($0, at: now).cause.text }.joined(separator: ", ")
  }
}
