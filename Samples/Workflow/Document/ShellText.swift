/// A line for `/bin/sh -c` in which values stand as variables, so that no shell reads them.
///
/// A value could be `'; rm -rf /`: an output of a step is made of what the world says. So a place
/// never becomes a part of the program; it becomes the expansion of a variable, which a shell puts
/// in after it has read the program. What stands around it decides about quotes:
///
/// | in the file | for the shell |
/// |---|---|
/// | `echo ${{ matrix.os }}` | `echo "${WORKFLOW_matrix_os}"` |
/// | `echo "on ${{ matrix.os }}"` | `echo "on ${WORKFLOW_matrix_os}"` |
/// | `echo 'on ${{ matrix.os }}'` | `echo 'on '"${WORKFLOW_matrix_os}"''` |
///
/// A value is one word therefore, whatever is in it. What a command gives to another shell, as in
/// `ssh host 'ls ${{ env.DIR }}'`, is read by that shell: that is the file's affair.
public struct ShellText: Sendable, Equatable {
  /// A variable and the place whose value it has.
  public struct Variable: Sendable, Equatable {
    /// `WORKFLOW_matrix_os`.
    public var name: String
    /// The place.
    public var part: Template.Part
  }

  /// The line.
  public private(set) var text = ""
  /// Its variables, each once.
  public private(set) var variables: [Variable] = []
  /// The first place, from 0, where a shell expands nothing: in a here-document with a quoted end.
  private(set) var unusablePlace: Int?

  /// Makes a line of a template.
  ///
  /// - Complexity: Linear.
  public init(_ template: Template) {
    var context = ShellContext()
    var number = 0
    for part in template.parts {
      if case .text(let literal) = part {
        context.read(literal)
        text += literal
        continue
      }
      let name = variable(for: part)
      let quoting = context.quoting
      if quoting == .none || quoting == .double { escapeDollar() }
      switch quoting {
      case .none: text += "\"${\(name)}\""
      case .double: text += "${\(name)}"
      case .single: text += "'\"${\(name)}\"'"
      case .escaped: text += "\\\"${\(name)}\""
      // The backslash stands for itself; the quotes around it have to stay open.
      case .escapedInDouble: text += "\\${\(name)}"
      case .impossible:
        unusablePlace = unusablePlace ?? number
        text += "${\(name)}"
      }
      context.readPlace()
      number += 1
    }
  }

  /// A `$` in front of a place stands for itself; the shell would take `$${` for its process.
  private mutating func escapeDollar() {
    let dollars = text.reversed().prefix { $0 == "$" }.count
    if dollars % 2 == 1, text.dropLast(dollars).last != "\\" {
      text.insert("\\", at: text.index(before: text.endIndex))
    }
  }

  /// The name of the variable for a place.
  private mutating func variable(for part: Template.Part) -> String {
    if let known = variables.first(where: { $0.part == part }) { return known.name }
    let words: [String]
    switch part {
    case .text: words = []
    case .matrix(let name): words = ["matrix", name]
    case .environment(let name): words = ["env", name]
    case .output(let step, let name): words = ["steps", step, name]
    case .parameter(let name): words = ["parameters", name]
    case .run: words = ["run", "id"]
    }
    let base = String(
      "WORKFLOW_\(words.joined(separator: "_"))".unicodeScalars.map { scalar -> Character in
        scalar.value < 0x80 && UInt8(scalar.value).isLetterOrDigit ? Character(scalar) : "_"
      }
    )
    var name = base
    var count = 1
    while variables.contains(where: { $0.name == name }) {
      count += 1
      name = "\(base)_\(count)"
    }
    variables.append(Variable(name: name, part: part))
    return name
  }
}
