/// A queue as all that is below ``OperationQueue`` knows it, the one type that conforms: something
/// to keep alive, to compare, and to call by its name.
package protocol QueueObject: AnyObject, Sendable {
  /// What texts call the queue: the name that was set, or the type.
  var label: String { get }
  /// The name that was set, if one was.
  var givenName: String? { get }
  /// What its operations notify, and what is asked about it.
  var abstractScheduler: AbstractScheduler { get }
}
