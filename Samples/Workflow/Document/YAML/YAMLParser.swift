import Foundation
import Synchronization
import Yams

/// Makes a tree of values from YAML, without the dangers of a text that somebody else wrote.
///
/// The parser below recurses, resolves aliases, and compares keys before anything else can look at
/// them. So it gets a stack that suffices for the deepest text that it takes, and a text in which
/// aliases are ordinary words, of which it can't make billions; they are resolved here, counted.
enum YAMLParser {
  /// What came of a text.
  struct Parsed: Sendable {
    /// The value of the file; nil if there is none, or if its syntax is wrong.
    var root: YAMLNode?
    /// Mistakes of syntax.
    var mistakes: [Diagnostic] = []
  }

  /// Reads a text.
  ///
  /// - Complexity: Linear.
  static func parsed(_ text: String) -> Parsed {
    let handover = Handover()
    // Tasks have half a megabyte of stack on some systems.
    let thread = Thread {
      let parsed = parsedOnThisStack(text)
      handover.parsed.withLock { $0 = parsed }
      handover.isDone.signal()
    }
    thread.stackSize = 32 << 20
    thread.start()
    handover.isDone.wait()
    return handover.parsed.withLock { $0 }
  }

  /// Hands a result from one thread to another.
  private final class Handover: Sendable {
    let parsed = Mutex(Parsed())
    let isDone = DispatchSemaphore(value: 0)
  }

  /// The most repeated keys that are shown in one go.
  private static let repetitions = 20

  private static func parsedOnThisStack(_ text: String) -> Parsed {
    var disguise = YAMLDisguise(text)
    for _ in 0...repetitions {
      do {
        let parser = try Parser(yaml: disguise.text, resolver: .basic, encoding: .utf8)
        guard let root = try parser.singleRoot() else { return Parsed() }
        // Nodes refer weakly to their anchors, which the parser holds.
        return withExtendedLifetime(parser) {
          var conversion = YAMLConversion(disguise: disguise)
          let node = conversion.node(root, depth: 0)
          return Parsed(root: node, mistakes: conversion.mistakes)
        }
      } catch YamlError.duplicatedKeysInMapping(let names, let context) {
        // It stops at the first repetition; with another letter in that key it comes further.
        let place = Place(line: context.mark.line, column: context.mark.column)
        if disguise.hideKey(at: place) { continue }
        let name = disguise.original(names.first ?? "")
        let message = "the key ‘\(name)’ occurs twice"
        return Parsed(mistakes: [
          Diagnostic(line: place.line, column: place.column, message: message)
        ])
      } catch let error as YamlError {
        return Parsed(mistakes: [YAMLProblem.diagnostic(for: error, in: text)])
      } catch {
        return Parsed(mistakes: [Diagnostic(line: nil, column: nil, message: "\(error)")])
      }
    }
    let message = "more than \(repetitions) keys occur twice"
    return Parsed(mistakes: [Diagnostic(line: nil, column: nil, message: message)])
  }
}
