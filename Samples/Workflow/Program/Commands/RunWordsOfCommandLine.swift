import Foundation

/// The words of a command line that runs a workflow, told apart: files, values of parameters, steps.
struct RunWordsOfCommandLine {
  /// The files with workflows.
  private(set) var files: [String] = []
  /// Values, by the names of parameters.
  private(set) var parameters: [String: String] = [:]
  /// The parameters that have more than one value.
  private(set) var repeated: [String] = []
  /// The steps behind `--only`, which takes all words up to the next option.
  private(set) var only: [String] = []

  /// Tells words apart.
  ///
  /// - Parameters:
  ///   - words: The words that belong to no option.
  ///   - names: The words behind `--only`.
  init(_ words: [String], only names: [String]) {
    for word in words where !takes(parameter: word) { files.append(word) }
    only = names.filter { !takes(parameter: $0) }
    // No step's name ends so, unless somebody wants to be misunderstood.
    if files.isEmpty, let last = only.last, last.hasSuffix(".yml") || last.hasSuffix(".yaml") {
      files = [only.removeLast()]
    }
  }

  private mutating func takes(parameter word: String) -> Bool {
    guard let equals = word.firstIndex(of: "="), equals != word.startIndex,
      !word[..<equals].contains("/"), !FileManager.default.fileExists(atPath: word)
    else { return false }
    let name = String(word[..<equals])
    if parameters.updateValue(String(word[word.index(after: equals)...]), forKey: name) != nil {
      repeated.append(name)
    }
    return true
  }
}
