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
