import ArgumentParser
import Foundation
import TerminalSupport
import WorkflowDocument
import WorkflowRunner

/// The value of `--until`: a time of day, or a duration.
enum UntilArgument: Equatable {
  case after(Duration)
  case timeOfDay(hour: Int, minute: Int)

  /// Reads `06:30`, or a duration as files have it.
  ///
  /// - Throws: What is wrong with it, and how to write it.
  init(argument text: String) throws {
    let quoted = "‘\(text.excerpt())’"
    if text.contains(":") {
      let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 2, let hour = Self.number(parts[0], digits: 1...2, below: 24),
        let minute = Self.number(parts[1], digits: 2...2, below: 60)
      else {
        throw ValidationError(
          "\(quoted) isn’t a time of day; times of day are from ‘00:00’ to ‘23:59’"
        )
      }
      self = .timeOfDay(hour: hour, minute: minute)
      return
    }
    let duration: Duration
    do throws(ValueProblem) {
      duration = try DurationText.duration(text)
    } catch {
      let help = error.help.map { "; \($0)" } ?? ""
      throw ValidationError("\(error.message)\(help), and times of day are like ‘06:30’")
    }
    guard duration > .zero else {
      throw ValidationError("--until needs a time after the start of the run, not \(quoted)")
    }
    self = .after(duration)
  }

  private static func number(
    _ text: Substring,
    digits: ClosedRange<Int>,
    below limit: Int
  ) -> Int? {
    guard digits.contains(text.count), text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
      let number = Int(text), number < limit
    else { return nil }
    return number
  }

  /// The deadline of a run that begins now.
  func deadline(from now: Date = Date(), in calendar: Calendar = .current) -> RunDeadline {
    switch self {
    case .after(let duration): return RunDeadline(after: duration)
    case .timeOfDay(let hour, let minute):
      // A day on which clocks are set forward may not have the time: then it is the next one.
      let next = calendar.nextDate(
        after: now,
        matching: DateComponents(hour: hour, minute: minute, second: 0),
        matchingPolicy: .nextTime
      )
      let seconds = (next ?? now.addingTimeInterval(86_400)).timeIntervalSince(now)
      let digits = [hour, minute].map { $0 < 10 ? "0\($0)" : "\($0)" }
      return RunDeadline(after: .seconds(seconds), timeOfDay: digits.joined(separator: ":"))
    }
  }
}
