public import AdvancedOperations

/// Something is not as a test expects it.
///
/// The expectations of this module throw it, so they work in every test framework: a test that
/// throws fails. It says where the expectation was called.
///
/// ```swift
/// do {
///   try expectOutcome(of: upload, is: .succeeded)
/// } catch let failure as ExpectationFailure {
///   print(failure.line, failure.message)
/// }
/// ```
public struct ExpectationFailure: Error, CustomStringConvertible {
  /// What was expected and what was found.
  public let message: String
  /// Where the expectation was called.
  public let fileID: String
  /// The line of that.
  public let line: Int
  /// The seed of the simulation in which the operation ran; nil outside of any.
  public let seed: UInt64?
  /// The error that a closure of the test has thrown; nil when nothing else was thrown.
  ///
  /// ``exploreRestarts(randomSchedules:stepLimit:seed:fileID:line:of:)`` reports errors so.
  public let underlying: (any Error)?

  /// Creates an error; for expectations of your own.
  ///
  /// - Parameters:
  ///   - message: What was expected and what was found.
  ///   - operation: Whose simulation is named.
  ///   - fileID: Where the expectation was called.
  ///   - line: The line of that.
  public init(
    _ message: String,
    about operation: AdvancedOperation? = nil,
    fileID: String = #fileID,
    line: Int = #line
  ) {
    let seed = operation.flatMap { Simulation.of($0)?.seed }
    self.init(message, seed: seed, fileID: fileID, line: line)
  }

  init(
    _ message: String,
    seed: UInt64?,
    underlying: (any Error)? = nil,
    fileID: String,
    line: Int
  ) {
    self.underlying = underlying
    self.message = message
    self.fileID = fileID
    self.line = line
    self.seed = seed
  }

  /// File, line, message and seed.
  public var description: String {
    "\(fileID):\(line): \(message)" + (seed.map { " (seed \($0))" } ?? "")
  }
}
