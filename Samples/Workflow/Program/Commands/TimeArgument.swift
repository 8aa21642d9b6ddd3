import ArgumentParser
import WorkflowDocument

extension Duration {
  /// Reads a duration of the command line as files have it: `500ms`, `90s`, `10m`, `1h30m`, `30d`.
  ///
  /// - Throws: What is wrong with it, and how to write it.
  init(argument text: String) throws {
    do throws(ValueProblem) {
      self = try DurationText.duration(text)
    } catch {
      throw ValidationError(error.help.map { "\(error.message); \($0)" } ?? error.message)
    }
  }
}
