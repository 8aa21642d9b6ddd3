/// A step as the file has it, before its names are checked and its matrix is expanded.
struct StepDraft {
  /// What it is called.
  var id: Named
  /// Where it begins.
  var place: Place
  /// What it runs.
  var command = Command.arguments([])
  /// Names of steps.
  var needs: [Named] = []
  /// Conditions, whose outcomes name steps as the file does.
  var when: [StepCondition] = []
  /// The same.
  var require: [StepCondition] = []
  /// What one step at a time may have.
  var exclusive: [String] = []
  /// Resources and how much of them.
  var uses: [Use] = []
  /// How often it may start.
  var rates: [Rate] = []
  /// What happens when it fails.
  var retry: RetryRule?
  /// How long an attempt may take.
  var timeout: Duration?
  /// What undoes it.
  var rollback: Command?
  /// Its variables.
  var environment: [String: Template] = [:]
  /// Where it runs.
  var workingDirectory: Template?
  /// The shell of its scripts.
  var shell: Shell?
  /// Whether it has the terminal.
  var isInteractive = false
  /// Its matrix; nil where it has a mistake, too.
  var matrix: MatrixDraft?
  /// Whether the file gives it one.
  var hasMatrix = false
  /// What it gives to later steps.
  var outputs: [Named] = []
  /// The places of its templates.
  var references: [TemplateReference] = []
  /// The steps that its outcomes name.
  var mentions: [OutcomeMention] = []

  /// An amount of a resource.
  struct Use {
    var name: Named
    var amount: ResourceAmount
    var place: Place
  }
}

extension StepDraft {
  /// The one combination of a step that this one needs: `build@${{ matrix.os }}`; nil if it needs all of
  /// them, or several.
  func need(ofOneCombinationOf base: String) -> Named? {
    let needed = needs.filter { $0.base == base }
    return needed.count == 1 && needed[0].text != base ? needed[0] : nil
  }

  /// How it can need one combination of a step: the one of its own values, if it has the same axes.
  func help(toNeedOneCombinationOf step: StepDraft) -> String? {
    guard let other = step.matrix, let first = other.combinations.first else { return nil }
    let hasAll = other.names.allSatisfy { matrix?.names.contains($0) == true }
    let values = hasAll ? other.names.map { "${{ matrix.\($0) }}" } : first
    return "need only one of them: ‘needs: \"\(step.id.text)@\(values.joined(separator: ","))\"’"
  }
}

extension Named {
  /// What the file calls a step, of which this may be a combination.
  var base: String { String(text.prefix { $0 != "@" }) }
}

/// A place of a template in the file.
struct TemplateReference {
  /// What it refers to.
  var part: Template.Part
  /// Where the text begins that it is in.
  var start: Place
  /// Which `${{` of that text it is, from 0.
  var number: Int
  /// Whether it is filled when the step has ended well: in what undoes it.
  var isInRollback = false
}

/// A step that an expression of outcomes names.
struct OutcomeMention {
  /// The step.
  var name: String
  /// Where the expression begins.
  var start: Place
  /// The expression.
  var text: String
  /// Where the name begins in it.
  var offset: Int
}

/// The combinations of a matrix.
struct MatrixDraft {
  /// How many a step may have.
  static let limit = 1000

  /// The names of the axes.
  var names: [String]
  /// The values, one list for each combination, in the order of the names.
  var combinations: [[String]]
  /// Where it begins.
  var place: Place
}

extension Findings {
  /// The place of a reference.
  func place(of reference: TemplateReference, offset: Int = 4) -> Place {
    place(ofOpening: reference.number, from: reference.start, offset: offset)
  }

  /// The place of the n-th `${{` of a text, and some characters further.
  func place(ofOpening number: Int, from start: Place, offset: Int) -> Place {
    guard let place = source.place(of: "${{", occurrence: number, from: start) else {
      return start
    }
    return Place(line: place.line, column: place.column + offset)
  }

  /// The place of a step's name in an expression.
  func place(of mention: OutcomeMention) -> Place {
    source.place(ofOffset: mention.offset, in: mention.text, at: mention.start)
  }
}
