import AdvancedOperations
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@Suite struct `The children of an operation as a value` {
  /// Children in a phase, with so many that are open.
  private static func children(_ phase: Children.Phase, open: Int = 0) -> Children {
    var children = Children()
    switch phase {
    case .waiting: add(open, to: &children)
    case .beginning:
      children.begins()
      add(open, to: &children)
    case .running:
      children.begins()
      add(max(open, 1), to: &children)
      #expect(word(children.begun()) == "none")
    case .closed:
      children.begins()
      #expect(word(children.begun()) == "close")
    }
    return children
  }

  private static func add(_ count: Int, to children: inout Children) {
    for _ in 0..<count {
      let first = children.count
      #expect(children.comes(CollectionOfOne(BlockOperation {})) == .take(first))
      children.came(first..<first + 1)
    }
  }

  private static func word(_ action: Children.EndAction) -> String {
    switch action {
    case .none: return "none"
    case .close: return "close"
    case .wake(let waiter):
      waiter()
      return "wake"
    }
  }

  @Test(arguments: Children.Phase.allCases)
  func `children are accepted until closing even if all have ended`(phase: Children.Phase) {
    var children = Self.children(phase)
    let count = children.count
    let action = children.comes([BlockOperation {}, BlockOperation {}])
    switch phase {
    case .waiting, .beginning, .running: #expect(action == .take(count))
    case .closed: #expect(action == .refuseAsTooLate)
    }
    #expect(children.count == (phase == .closed ? count : count + 2))
    #expect(children.phase == phase)
  }

  @Test(arguments: Children.Phase.allCases)
  func `the last child's end closes the children only while they run`(phase: Children.Phase) {
    if phase == .closed { return }
    var children = Self.children(phase, open: 2)
    #expect(Self.word(children.ended(1)) == "none")
    #expect(Self.word(children.ended(0)) == (phase == .running ? "close" : "none"))
    #expect(children.phase == (phase == .running ? .closed : phase))
  }

  @Test func `a parent closes its children if all have ended during its start`() {
    var children = Self.children(.beginning, open: 1)
    #expect(Self.word(children.ended(0)) == "none")
    #expect(Self.word(children.begun()) == "close")
    #expect(children.phase == .closed)
    children = Self.children(.beginning, open: 1)
    #expect(Self.word(children.begun()) == "none")
    #expect(children.phase == .running)
  }

  @Test func `a child that is being added counts before it is listed`() {
    var children = Self.children(.running)
    let operation = BlockOperation {}
    #expect(children.comes(CollectionOfOne(operation)) == .take(1))
    #expect(children.operations.count == 1)
    #expect(Self.word(children.ended(0)) == "none", "the other keeps them open")
    children.came(1..<2)
    #expect(children.operations.last === operation)
    #expect(Self.word(children.ended(1)) == "close")
    #expect(children.operations.count == 2, "also when they have ended")
    #expect(children.taken().count == 2)
    #expect(children.operations.isEmpty)
    #expect(children.first == nil)
  }

  @Test(arguments: [Children.Phase.waiting, .beginning, .running])
  func `the last child's end wakes waiting threads once`(phase: Children.Phase) {
    var children = Self.children(phase, open: 2)
    let wakes = Counter()
    let haveEnded = children.waits { wakes.add() }
    #expect(!haveEnded)
    #expect(Self.word(children.ended(0)) == "none")
    #expect(wakes.count == 0)
    #expect(Self.word(children.ended(1)) == "wake")
    #expect(wakes.count == 1)
    #expect(children.phase == (phase == .running ? .closed : phase))
  }

  @Test func `a wait for ended children returns immediately`() {
    var children = Self.children(.closed)
    let haveEnded = children.waits { Issue.record("was woken") }
    #expect(haveEnded)
  }

  @Test func `a scope closes its children only if no more are being added`() {
    var children = Children(isListed: false)
    #expect(children.comes([BlockOperation {}, BlockOperation {}]) == .take(0))
    #expect(children.closes(with: 2) == false, "they are open")
    #expect(Self.word(children.ended(0)) == "none")
    #expect(Self.word(children.ended(1)) == "none")
    #expect(children.closes(with: 2) == false, "they are still coming")
    children.came(0..<2)
    #expect(children.closes(with: 1) == false, "one has come since")
    #expect(children.closes(with: 2) == true)
    #expect(children.closes(with: 2) == true, "and are closed from then on")
    #expect(children.comes(CollectionOfOne(BlockOperation {})) == .refuseAsTooLate)
    #expect(children.operations.isEmpty)
  }

  @Test func `child errors are ordered and inherited ones are counted`() {
    let (a, b, c) = (Work("a"), Work("b"), Work("c"))
    c.addDependency(a)
    var errors = ChildErrors()
    let inherited = OperationFailure.Element(
      origin: .dependency("a"),
      error: Flaw(3),
      isInherited: true
    )
    errors.record([inherited], notRunCount: 0, of: c, number: 2)
    errors.record([.init(origin: .body, error: Flaw(2))], notRunCount: 1, of: b, number: 1)
    errors.record([.init(origin: .body, error: Flaw(1))], notRunCount: 0, of: a, number: 0)
    errors.record([], notRunCount: 2, of: Work("d"), number: 3)
    #expect(errors.summary.errors.map { ($0 as? Flaw)?.number } == [1, 2])
    #expect(errors.summary.notRunCount == 4)
  }
}

/// What can't be ends the process and says so.
@Suite(.watched) struct `Impossible events of children trap` {
  @Test func `starting children twice traps`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var children = Children()
      children.begins()
      children.begins()
    }
    try expectInternalError("the children of an operation were started twice", in: result)
  }

  @Test func `reporting an unbegun start of children traps`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var children = Children()
      _ = children.begun()
    }
    try expectInternalError("the children of an operation had not begun", in: result)
  }

  @Test func `ending a child twice traps`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var children = Children()
      _ = children.comes([BlockOperation {}, BlockOperation {}])
      _ = children.ended(0)
      _ = children.ended(0)
    }
    try expectInternalError("a child of an operation ended twice", in: result)
  }
}
