import ArgumentParser
import Foundation
import Testing
import WorkflowRunner

@testable import workflow

@Suite struct UntilTests {
  /// A calendar in which the clock is set forward from 02:00 to 03:00 on 29 March 2026.
  private static let berlin: Calendar = {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(identifier: "Europe/Berlin") ?? .gmt
    return calendar
  }()

  private static func date(_ day: Int, _ hour: Int, _ minute: Int, _ second: Int = 0) throws -> Date
  {
    let parts = DateComponents(
      year: 2026,
      month: 3,
      day: day,
      hour: hour,
      minute: minute,
      second: second
    )
    return try #require(berlin.date(from: parts))
  }

  @Test(arguments: [
    ("06:30", UntilArgument.timeOfDay(hour: 6, minute: 30)),
    ("6:30", .timeOfDay(hour: 6, minute: 30)), ("00:00", .timeOfDay(hour: 0, minute: 0)),
    ("23:59", .timeOfDay(hour: 23, minute: 59)), ("90m", .after(.seconds(5_400))),
    ("1h30m", .after(.seconds(5_400))), ("500ms", .after(.milliseconds(500))),
  ])
  func `A time of day and a duration are read`(_ text: String, _ value: UntilArgument) throws {
    #expect(try UntilArgument(argument: text) == value)
  }

  @Test(arguments: [
    ("24:00", "‘24:00’ isn’t a time of day; times of day are from ‘00:00’ to ‘23:59’"),
    ("06:60", "isn’t a time of day"), ("6:3", "isn’t a time of day"),
    ("06:30:00", "isn’t a time of day"), (":30", "isn’t a time of day"),
    ("-1:30", "isn’t a time of day"),
    ("90", "the time ‘90’ has no unit; seconds are ‘90s’, and times of day are like ‘06:30’"),
    (
      "tomorrow",
      "‘tomorrow’ isn’t a time; times are like ‘90s’, ‘10m’ or ‘1h30m’, and times of day are like "
        + "‘06:30’"
    ),
    ("0s", "--until needs a time after the start of the run, not ‘0s’"),
  ])
  func `A wrong time is refused with the right way to write it`(_ text: String, _ help: String) {
    let error = #expect(throws: ValidationError.self) { try UntilArgument(argument: text) }
    #expect(error?.message.contains(help) == true, "\(error?.message ?? "")")
  }

  @Test func `A time of day that is still to come is today`() throws {
    let deadline = UntilArgument.timeOfDay(hour: 6, minute: 30)
      .deadline(from: try Self.date(10, 5, 0, 30), in: Self.berlin)
    #expect(deadline == RunDeadline(after: .seconds(5_370), timeOfDay: "06:30"))
  }

  @Test func `A time of day that has passed is tomorrow`() throws {
    let argument = UntilArgument.timeOfDay(hour: 6, minute: 30)
    let passed = argument.deadline(from: try Self.date(10, 7, 30), in: Self.berlin)
    #expect(passed.duration == .seconds(23 * 3_600))
    let now = argument.deadline(from: try Self.date(10, 6, 30), in: Self.berlin)
    #expect(now.duration == .seconds(24 * 3_600))
  }

  @Test func `The night in which clocks are set forward is an hour shorter`() throws {
    let morning = UntilArgument.timeOfDay(hour: 6, minute: 30)
      .deadline(from: try Self.date(28, 22, 30), in: Self.berlin)
    #expect(morning.duration == .seconds(7 * 3_600))
    let skipped = UntilArgument.timeOfDay(hour: 2, minute: 30)
      .deadline(from: try Self.date(29, 1, 0), in: Self.berlin)
    #expect(skipped.duration == .seconds(3_600))
  }

  @Test func `A run is cut off by its deadline, reported, and resumed`() throws {
    let place = try RunPlace()
    try place.write(
      """
      steps:
        - {id: quick, command: echo done}
        - {id: slow, needs: quick, command: test -e ready || sleep 600}
        - {id: last, needs: slow, command: 'true'}
      """
    )
    let end = try place.run("run", "w.yml", "--until", "1500ms")
    #expect(end.status == 1)
    #expect(end.output.contains("⊘ ending because the run's time was over after 1.5 s"))
    #expect(end.output.contains("slow  cancelled: the run's time was over after 1.5 s"))
    #expect(end.output.contains("⊘ w was cancelled after"))
    let explained = try place.run("explain", "last", "last")
    #expect(explained.output.contains("the run's time was over after 1.5 s"), "\(explained.output)")

    try place.write("", to: "ready")
    let resumed = try place.run("resume", "last", "--until", "10m")
    #expect(resumed.status == 0, "\(resumed.output)")
    #expect(!resumed.output.contains("▸ quick"))
  }

  @Test func `The help of both commands names the option`() throws {
    let place = try RunPlace()
    for command in ["run", "resume"] {
      let help = try place.run(command, "--help").output
      #expect(help.contains("--until <time>"))
      let words = help.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      #expect(words.contains("a time of day (06:30), or a duration (90m)"), "\(help)")
    }
    let wrong = try place.run("resume", "last", "--until", "25:00")
    #expect(wrong.status == 64)
    #expect(wrong.errors.contains("times of day are from ‘00:00’ to ‘23:59’"))
  }
}
