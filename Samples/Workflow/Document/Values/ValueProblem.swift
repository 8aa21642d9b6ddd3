/// What is wrong with the text of a value.
struct ValueProblem: Error, Equatable {
  /// A sentence without a full stop.
  var message: String
  /// How to mend it.
  var help: String?

  init(_ message: String, help: String? = nil) {
    self.message = message
    self.help = help
  }
}
