import AdvancedOperations
import AdvancedTestSupport
import TestSupport
import Testing

private typealias Done = EventDelivery.Done

extension EventDelivery {
  fileprivate static let progress = Event.progress(.init(completedUnitCount: 1, totalUnitCount: 3))

  fileprivate mutating func begin(startsOperation: Bool = false) -> Bool {
    begin(inside: .none, startsOperation: startsOperation)
  }
}

extension EventDelivery.Next {
  /// The step and its payload, as the table has them.
  fileprivate var text: String {
    switch self {
    case .notify(.progress(let update)): "notify progress \(update.completedUnitCount)"
    case .notify(let event): "notify \(event)"
    case .notifyLatecomers(let id): "notify latecomers after \(id)"
    case .sendBody: "send body"
    case .close(let isHeld, let isLast):
      "close" + (isHeld ? " held" : "") + (isLast ? " last" : "")
    case .becomeIdle: "become idle"
    case .runBody: "run body"
    case .stop: "stop"
    }
  }
}

/// A step that a thread has taken, and all on which the next one depends.
private struct Situation: CustomStringConvertible {
  enum Waiting: CaseIterable { case nothing, progress, heldProgress, start }

  var done: Done
  var place: Place
  var startsOperation: Bool
  var waiting: Waiting
  var hasLatecomer: Bool
  var isUnheard: Bool
  var isInBody: Bool

  var description: String {
    "\(done) in \(place), starts \(startsOperation), waiting \(waiting), latecomer \(hasLatecomer), "
      + "unheard \(isUnheard), in body \(isInBody)"
  }

  /// Where an operation can be after a step.
  private static func places(_ done: Done) -> [Place] {
    switch done {
    case .began, .notified, .sentBody:
      [.started, .startedCancelled, .launched, .launchedCancelled, .finishing]
    case .notifiedOfStart: [.launched, .launchedCancelled, .finishing]
    case .notifiedOfWillFinish: [.finishing, .finishingCancelled]
    case .notifiedOfDidFinish: [.finishingAfterWillFinish]
    // Finished by ``machine``.
    case .closed: [.finishingAfterWillFinish, .finishingCancelled]
    case .becameIdle: [.finished, .finishedCancelled]
    }
  }

  static let all: [Situation] = {
    var all: [Situation] = []
    for done in Done.allCases {
      for place in places(done) {
        // A start is due only while the state is executing and hasn't begun, or has ended since.
        let canStart = [Place.started, .startedCancelled, .finishing].contains(place)
        for waiting in Waiting.allCases where waiting != .start || canStart {
          for bits in 0..<16 {
            all.append(
              Situation(
                done: done,
                place: place,
                startsOperation: bits & 1 > 0,
                waiting: waiting,
                hasLatecomer: bits & 2 > 0,
                isUnheard: bits & 4 > 0,
                isInBody: bits & 8 > 0
              )
            )
          }
        }
      }
    }
    return all
  }()

  private var machine: Machine {
    var machine = place.machine
    if done == .closed {
      if place == .finishingCancelled { machine.willFinishNotified() }
      machine.didFinishNotified()
    }
    return machine
  }

  /// The answer of the delivery.
  var next: EventDelivery.Next {
    var machine = machine
    var delivery = EventDelivery()
    delivery.append(EventDelivery.progress)
    _ = delivery.begin(startsOperation: startsOperation)
    // The event that was just delivered, with the first observer in hand.
    let audience = EventDelivery.Audience(lastObserver: 1, isEmpty: isUnheard)
    _ = delivery.next(after: .began, isInBody: isInBody, to: audience, of: &machine)
    switch waiting {
    case .nothing: break
    case .progress: delivery.append(EventDelivery.progress)
    case .heldProgress:
      delivery.append(EventDelivery.progress)
      delivery.sweepBegan()
    case .start: delivery.append(.started)
    }
    return delivery.next(
      after: done,
      isInBody: isInBody,
      to: .init(lastObserver: hasLatecomer ? 2 : 1, isEmpty: isUnheard),
      of: &machine
    )
  }

  /// The table.
  var expected: String {
    switch done {
    case .notifiedOfStart where !startsOperation: "send body"
    case .notifiedOfStart: waiting == .progress ? "notify progress 1" : start ?? "run body"
    case .notifiedOfWillFinish where isUnheard && waiting == .nothing: close
    case .notifiedOfWillFinish:
      switch waiting {
      case .nothing: "notify didFinish"
      case .progress: "notify progress 1"
      case .heldProgress: "stop"
      case .start: "notify didFinish"
      }
    case .notifiedOfDidFinish: hasLatecomer ? "notify latecomers after 1" : close
    // The other one still has its body on a stack.
    case .closed where !isInBody && place == .finishingCancelled: "become idle"
    case .began, .notified, .sentBody, .closed, .becameIdle:
      waiting == .progress ? "notify progress 1" : start ?? "stop"
    }
  }

  private var close: String {
    "close" + (isInBody && (waiting == .nothing || waiting == .heldProgress) ? " last" : "")
  }

  /// What comes of a start that is due: the state decides at the last moment.
  private var start: String? {
    guard waiting == .start else { return nil }
    switch place {
    case .started: return "notify started"
    case .startedCancelled: return "notify willFinish"
    default: return nil
    }
  }
}

@Suite(.watched) struct `The delivery of events as a value` {
  @Test func `event delivery answers each step as the table says`() {
    for situation in Situation.all {
      #expect(situation.next.text == situation.expected, "\(situation)")
    }
  }

  @Test func `event delivery begins if an event is due and no thread delivers`() {
    var delivery = EventDelivery()
    let withoutEvent = delivery.begin()
    delivery.append(EventDelivery.progress)
    delivery.sweepBegan()
    let heldBack = delivery.begin()
    delivery.sweepEnded()
    let due = delivery.begin()
    let again = delivery.begin()
    #expect([withoutEvent, heldBack, due, again] == [false, false, true, false])
    #expect(delivery.isDelivering)
  }

  @Test func `event delivery ends with the right last step and may begin again`() {
    let situations = [
      (false, false, "stop"), (true, false, "run body"), (false, true, "close last"),
    ]
    for (startsOperation, isInBody, last) in situations {
      var machine = isInBody ? Place.finishing.machine : Place.started.machine
      var delivery = EventDelivery()
      delivery.append(startsOperation ? .started : isInBody ? .willFinish : EventDelivery.progress)
      _ = delivery.begin(startsOperation: startsOperation)
      var (done, steps) = (Done.began, [String]())
      while delivery.isDelivering {
        let next = delivery.next(
          after: done,
          isInBody: isInBody,
          to: .init(lastObserver: 0, isEmpty: true),
          of: &machine
        )
        if case .notify(let event) = next { done = event.done }
        steps.append(next.text)
      }
      #expect(steps.last == last)
      delivery.append(EventDelivery.progress)
      let beginsAgain = delivery.begin()
      #expect(beginsAgain)
    }
  }

  @Test func `event delivery holds slot and membership for a body that runs elsewhere`() {
    for isHeld in [false, true] {
      var machine = Place.launched.machine
      if isHeld { machine.bodyBegan() }
      _ = machine.decide([])
      var delivery = EventDelivery()
      delivery.append(.willFinish)
      _ = delivery.begin()
      let audience = EventDelivery.Audience(lastObserver: 0, isEmpty: true)
      _ = delivery.next(after: .began, isInBody: false, to: audience, of: &machine)
      let next = delivery.next(
        after: .notifiedOfWillFinish,
        isInBody: false,
        to: audience,
        of: &machine
      )
      #expect(next.text == (isHeld ? "close held" : "close"))
    }
  }

  @Test func `event delivery keeps the order of appended events`() {
    var delivery = EventDelivery()
    for number in 1...3 as ClosedRange<Int64> {
      delivery.append(.progress(.init(completedUnitCount: number, totalUnitCount: 3)))
    }
    #expect(
      Self.events(delivery) == ["notify progress 1", "notify progress 2", "notify progress 3"]
    )
  }

  @Test func `an announced event that doesn't happen is removed`() {
    let (one, other) = (Work("one"), Work("other"))
    for place in 0...2 {
      var delivery = EventDelivery()
      for number in 0...2 {
        if number == place { delivery.append(.produced(one)) }
        delivery.append(.progress(.init(completedUnitCount: Int64(number), totalUnitCount: 3)))
      }
      delivery.removeProduced(other)
      delivery.removeProduced(one)
      #expect(
        Self.events(delivery) == ["notify progress 0", "notify progress 1", "notify progress 2"]
      )
    }
  }

  private static func events(_ delivery: EventDelivery) -> [String] {
    var (delivery, machine, names) = (delivery, Place.launched.machine, [String]())
    _ = delivery.begin()
    while delivery.isDelivering {
      let audience = EventDelivery.Audience(lastObserver: 0, isEmpty: false)
      let next = delivery.next(after: .notified, isInBody: false, to: audience, of: &machine)
      names.append(next.text)
    }
    return names.dropLast()
  }

  @Test func `a thread that keeps delivering after its delivery's end traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      var (delivery, machine) = (EventDelivery(), Place.launched.machine)
      let audience = EventDelivery.Audience(lastObserver: 0, isEmpty: true)
      _ = delivery.next(after: .notified, isInBody: false, to: audience, of: &machine)
    }
    try expectInternalError("a thread kept delivering after the end of its delivery", in: result)
  }
}
