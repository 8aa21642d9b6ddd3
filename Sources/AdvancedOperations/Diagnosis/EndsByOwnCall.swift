/// An operation whose user ends it with a call of its own, and not with `finish()`; explanations
/// name that.
package protocol EndsByOwnCall: AdvancedOperation {
  /// The call, as in `release()`.
  var endingCall: String { get }
}
