public import WorkflowDocument

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What tells one workflow from another: 64 bits of all that a file says, without its line numbers.
///
/// A comment, or steps in another order, don't change it.
public enum WorkflowFingerprint {
  /// The fingerprint of a workflow.
  public static func text(of workflow: Workflow) -> String {
    var plain = workflow
    plain.steps.sort { $0.id < $1.id }
    for index in plain.steps.indices { plain.steps[index].line = 0 }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    // A workflow is texts and numbers, so there is nothing that can't be encoded.
    let bytes = (try? encoder.encode(plain)) ?? Data()
    // FNV-1a: against accidents, not against people.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

extension Workflow {
  /// What is different in a later version of the workflow, a line each: “step ‘test’ was changed”.
  ///
  /// - Parameter other: The later version.
  /// - Returns: The differences, in the order of the steps; empty if there are none.
  public func differences(to other: Workflow) -> [String] {
    var lines: [String] = []
    if name != other.name { lines.append("the name was “\(name)”, and is “\(other.name)”") }
    if environment != other.environment { lines.append("the variables of the workflow (‘env’)") }
    if resources != other.resources { lines.append("the resources") }
    let old = Dictionary(steps.map { ($0.id, $0) }) { first, _ in first }
    let new = Dictionary(other.steps.map { ($0.id, $0) }) { first, _ in first }
    for var step in other.steps {
      guard let before = old[step.id] else {
        lines.append("step ‘\(step.id)’ is new")
        continue
      }
      step.line = before.line
      if step != before { lines.append("step ‘\(step.id)’ was changed") }
    }
    for step in steps where new[step.id] == nil { lines.append("step ‘\(step.id)’ is gone") }
    return lines
  }
}
