/// A text of a condition, whose places are filled when the condition is looked at: outputs of
/// earlier steps are known by then.
struct ConditionText: Sendable {
  private let fill: @Sendable () throws -> String

  init(_ fill: @escaping @Sendable () throws -> String) { self.fill = fill }
  init(_ text: String) { fill = { text } }

  func callAsFunction() throws -> String { try fill() }
}
