import Testing

@testable import CoreOperations

/// Every event in every state, as a table: what it answers, and what it leaves behind.
@Suite struct `The life of an operation as a value` {
  typealias Life = OperationLife
  typealias Phase = OperationLife.Phase

  @Test func `an operation's life begins created, uncancelled and unstarted`() {
    let life = Life()
    #expect(life.phase == .created)
    #expect(!life.isCancelled)
    #expect(!life.wasStarted)
    #expect(life.rawValue == 0)
  }

  @Test(arguments: Phase.allCases)
  func `enqueueing changes an operation's life as the table says`(phase: Phase) {
    for before in Life.all(phase) {
      var life = before
      let action = life.enqueued()
      switch phase {
      case .created:
        #expect(action == .admit)
        #expect(life == before.with(phase: .enqueued))
      case .enqueued: #expect(action == .reject(.enqueuedTwice))
      case .finished where !before.wasStarted: #expect(action == .ignore)
      case .started, .executing, .ended, .finished:
        #expect(action == .reject(.enqueuedAfterStart))
      }
      if phase != .created { #expect(life == before) }
    }
  }

  @Test(arguments: [Phase.enqueued, .finished])
  func `a queue's start changes an operation's life as the table says`(phase: Phase) {
    for before in Life.all(phase) {
      var life = before
      let action = life.turnCame()
      #expect(action == (phase == .enqueued ? .callStart : .leave))
      let expected = phase == .enqueued ? before.with(phase: .started, wasStarted: true) : before
      #expect(life == expected)
    }
  }

  @Test(arguments: Phase.allCases)
  func `a direct run of the block follows the table`(phase: Phase) {
    for before in Life.all(phase) {
      var life = before
      let runs = life.turnCameToMain()
      #expect(runs == (phase == .enqueued && !before.isCancelled))
      #expect(life == (runs ? before.with(phase: .executing, wasStarted: true) : before))
    }
  }

  @Test(arguments: Phase.allCases, [false, true])
  func `the default start follows the table`(phase: Phase, isReady: Bool) {
    for before in Life.all(phase) {
      var life = before
      let action = life.startCalled(isReady: isReady)
      var expected = before
      switch phase {
      case .created where before.isCancelled:
        #expect(action == .finishCancelled)
        expected = before.with(phase: .ended, wasStarted: true)
      case .created where isReady:
        #expect(action == .callMain)
        expected = before.with(phase: .executing, wasStarted: true)
      case .created: #expect(action == .reject(.startedBeforeReady))
      case .enqueued: #expect(action == .reject(.startedWhileQueued))
      case .started where before.isCancelled:
        #expect(action == .finishCancelled)
        expected = before.with(phase: .ended)
      case .started:
        #expect(action == .callMain)
        expected = before.with(phase: .executing)
      case .executing: #expect(action == .reject(.startedWhileExecuting))
      case .ended, .finished: #expect(action == .ignore)
      }
      #expect(life == expected)
    }
  }

  @Test(arguments: Phase.allCases)
  func `a manual start of a layered operation follows the table`(phase: Phase) {
    for before in Life.all(phase) {
      var life = before
      let action = life.startedManually()
      switch phase {
      case .created:
        #expect(action == .begin)
        #expect(life == before.with(phase: .started, wasStarted: true))
      case .enqueued: #expect(action == .reject(.startedWhileQueued))
      case .started, .executing, .ended: #expect(action == .reject(.startedWhileExecuting))
      case .finished: #expect(action == .ignore)
      }
      if phase != .created { #expect(life == before) }
    }
  }

  @Test(arguments: [Phase.executing, .finished])
  func `the return of main follows the table`(phase: Phase) {
    for before in Life.all(phase) {
      var life = before
      let hasToAsk = life.mainReturned()
      #expect(hasToAsk == (phase == .executing))
      #expect(life == (phase == .executing ? before.with(phase: .ended) : before))
    }
  }

  @Test(arguments: Phase.allCases)
  func `a report of the end follows the table`(phase: Phase) {
    for before in Life.all(phase) {
      var life = before
      let action = life.finished()
      #expect(action == (phase == .finished ? .ignore : .close))
      #expect(life == before.with(phase: .finished))
      let again = life.finished()
      #expect(again == .ignore)
    }
  }

  @Test(arguments: Phase.allCases)
  func `a cancel changes an operation's life as the table says`(phase: Phase) {
    for before in Life.all(phase) {
      var life = before
      let action = life.cancelCalled()
      var expected = before
      switch phase {
      case .finished: #expect(action == .ignore)
      case .created, .enqueued, .started, .executing, .ended:
        if before.isCancelled {
          #expect(action == .again)
        } else if phase == .ended {
          #expect(action == .askWhetherFinished)
        } else {
          #expect(action == (phase == .enqueued ? .leaveAhead : .flagged))
          expected = before.with(isCancelled: true)
        }
      }
      #expect(life == expected)
    }
  }

  @Test(arguments: Phase.allCases)
  func `a cancel after an override denied the end follows the table`(phase: Phase) {
    for before in Life.all(phase) {
      var life = before
      let action = life.cancelCalled(isFinishDenied: true)
      switch phase {
      case .finished:
        #expect(action == .ignore)
        #expect(life == before)
      case .created, .enqueued, .started, .executing, .ended:
        let news = phase == .enqueued ? Life.CancelAction.leaveAhead : .flagged
        #expect(action == (before.isCancelled ? .again : news))
        #expect(life == before.with(isCancelled: true))
      }
    }
  }

  @Test func `phases are ordered as they are entered`() {
    #expect(Phase.allCases.sorted() == Phase.allCases)
    #expect(Phase.allCases == [.created, .enqueued, .started, .executing, .ended, .finished])
  }

  @Test func `every state of an operation's life survives its raw value`() {
    var seen: Set<UInt32> = []
    for phase in Phase.allCases {
      for life in Life.all(phase) {
        #expect(Life(rawValue: life.rawValue) == life)
        #expect(seen.insert(life.rawValue).inserted)
      }
    }
    #expect(seen.count == 24)
  }

  @Test func `an invalid state has no raw value`() {
    for raw in UInt32(0)..<64 {
      let isState = raw & 0b111 < UInt32(Phase.allCases.count) && raw < 32
      #expect((Life(rawValue: raw) != nil) == isState, "\(raw)")
    }
    #expect(Life(rawValue: .max) == nil)
  }
}

extension OperationLife {
  static func all(_ phase: Phase) -> [OperationLife] {
    [(false, false), (false, true), (true, false), (true, true)].map { isCancelled, wasStarted in
      OperationLife().with(phase: phase, isCancelled: isCancelled, wasStarted: wasStarted)
    }
  }

  /// Made from raw bits, so that each state can be had without the way to it.
  func with(
    phase: Phase? = nil,
    isCancelled: Bool? = nil,
    wasStarted: Bool? = nil
  ) -> OperationLife {
    let isCancelled = isCancelled ?? self.isCancelled
    let wasStarted = wasStarted ?? self.wasStarted
    let raw =
      (phase ?? self.phase).rawValue | (isCancelled ? 1 << 3 : 0) | (wasStarted ? 1 << 4 : 0)
    guard let life = OperationLife(rawValue: raw) else { fatalError("no state \(raw)") }
    return life
  }
}
