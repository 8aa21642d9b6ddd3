import OrderWorkflow

/// One thing that is wrong with a request.
struct Mistake: Codable, Hashable, Sendable {
  /// Where: a path such as `lines[2].quantity`, or the name of a header.
  var field: String
  /// One sentence that says how to mend it.
  var message: String

  init(field: String, message: String) {
    self.field = field
    self.message = message
  }

  init(_ problem: OrderProblem) {
    self.init(field: problem.field, message: problem.description)
  }
}
