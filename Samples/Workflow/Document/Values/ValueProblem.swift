/// What is wrong with the text of a value.
package struct ValueProblem: Error, Equatable {
  /// A sentence without a full stop.
  package var message: String
  /// How to mend it.
  package var help: String?

  init(_ message: String, help: String? = nil) {
    self.message = message
    self.help = help
  }
}
