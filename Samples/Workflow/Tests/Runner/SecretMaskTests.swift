import Foundation
import Testing

@testable import WorkflowRunner

/// What stands in the place of secrets.
@Suite struct `A secret` {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func mask(_ secrets: String...) -> SecretMask {
    let mask = SecretMask()
    mask.add(secrets)
    return mask
  }

  @Test func `a secret is masked everywhere, the longest of two first`() {
    let mask = mask("secret", "secret-long", "zwei\nzeilen", "abc", "über")
    #expect(mask.masked("secret secret-long x") == "****** *********** x")
    #expect(mask.masked("zwei, zeilen, abc") == "****, ******, abc")
    #expect(mask.masked("über") == "*****")
    #expect(mask.masked("secre") == "secre")
    #expect(SecretMask().masked("secret") == "secret")
  }

  @Test func `is masked in a file across the pieces that it is read in`() throws {
    // Behind the first piece by none to all of its letters.
    for shift in 0...7 {
      let text = String(repeating: "x", count: (1 << 20) - shift) + "secrets" + "\nend\n"
      try folder.write(text, to: "log")
      try mask("secrets").mask(fileAt: folder.path + "/log")
      #expect(try folder.text("log") == text.replacing("secrets", with: "*******"), "\(shift)")
    }
  }

  @Test func `is masked where the end of a line has cut it`() {
    let mask = mask("secret", "other")
    #expect(mask.masked("x secr…") == "x ****…")
    #expect(mask.masked("secret secre…") == "****** *****…")
    #expect(mask.masked("x secr") == "x secr")
    #expect(mask.masked("x…") == "x…")
  }

  @Test func `needs no file`() throws {
    try mask("secrets").mask(fileAt: folder.path + "/none")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/none"))
  }
}
