import BenchmarkKit

/// Judges the budgets by what was measured.
struct Budgets {
  private let report: Report
  private let processors: Int

  private static let ours = ContestantName.ours.title
  private static let dispatch = ContestantName.dispatch.title
  private static let foundation = ContestantName.foundation.title

  init(_ report: Report) {
    self.report = report
    processors = report.machine.processors
  }

  var all: [Budget] {
    independent + graphs + growth + efficiency + [roundTrip, sleepers] + memory + [smallStack]
      + advanced
  }

  // MARK: Ratios

  /// A ratio that holds when it does at every size from a smallest one on.
  private func ratio(
    _ what: String,
    atMost limit: Double,
    workload: String,
    _ subject: String = Self.ours,
    to reference: String,
    from smallest: Int
  ) -> Budget {
    let text = "≤ \(Quantity.ratio(limit)) × \(reference)"
    let sizes = report.workload(workload)?.sizes.filter { $0.size >= smallest } ?? []
    let ratios = sizes.compactMap { size in
      report.workload(workload)?.ratio(subject, to: reference, at: size.size)
        .map { (size: size.size, summary: $0) }
    }
    guard !ratios.isEmpty else { return Budget(what, limit: text) }
    let measured = ratios.map { size, summary in
      "\(Quantity.ratio(summary.median)) at \(CostChart.Panel.sizeLabel(Double(size)))"
    }
    return Budget(
      what,
      limit: text,
      measured: measured.joined(separator: ", "),
      holds: ratios.allSatisfy { $0.summary.median <= limit }
    )
  }

  private var independent: [Budget] {
    [
      ratio(
        "independent, one by one",
        atMost: 0.5,
        workload: "independent",
        to: Self.dispatch,
        from: 50_000
      ),
      foundationRatio(
        "independent, one by one",
        atMost: 0.1,
        workload: "independent",
        from: 50_000
      ),
      ratio("limit 1", atMost: 0.5, workload: "limit-1", to: Self.dispatch, from: 50_000),
      ratio("closures", atMost: 0.3, workload: "closures", to: Self.dispatch, from: 50_000),
      ratio(
        "closures that capture",
        atMost: 0.4,
        workload: "closures-captured",
        to: Self.dispatch,
        from: 50_000
      ),
      ratio(
        "closures, limit 1",
        atMost: 0.4,
        workload: "closures-limit-1",
        to: Self.dispatch,
        from: 50_000
      ),
    ]
  }

  private static let shapes = ["chain", "fan", "wavefront", "tree"]

  private var graphs: [Budget] {
    Self.shapes.flatMap { shape in
      [
        ratio(
          "\(shape), per edge",
          atMost: 1.5,
          workload: shape,
          to: GraphWorkload.withoutEdges,
          from: 10_000
        ),
        foundationRatio(shape, atMost: 0.001, workload: shape, from: 10_000),
      ]
    }
  }

  /// A ratio to Foundation, extrapolated where it would take too long to measure.
  private func foundationRatio(
    _ what: String,
    atMost limit: Double,
    workload name: String,
    from smallest: Int
  ) -> Budget {
    let text = "≤ \(Quantity.ratio(limit)) × \(Self.foundation)"
    guard let workload = report.workload(name),
      let size = workload.sizes.map(\.size).first(where: { $0 >= smallest })
    else { return Budget(what, limit: text) }
    if let measured = workload.ratio(Self.ours, to: Self.foundation, at: size) {
      let value = "\(ratioText(measured.median)) at \(CostChart.Panel.sizeLabel(Double(size)))"
      return Budget(what, limit: text, measured: value, holds: measured.median <= limit)
    }
    let points = workload.points(Self.foundation)
    guard points.count >= 2, let ours = workload.lane(Self.ours, at: size),
      let its = Statistics.extrapolate(points, to: Double(size))
    else { return Budget(what, limit: text) }
    let value = ours.minimum * Double(ours.operations) / its
    let from = CostChart.Panel.sizeLabel(points[points.count - 1].size)
    let measured =
      "\(ratioText(value)) at \(CostChart.Panel.sizeLabel(Double(size))), its time extrapolated from "
      + from
    // Its growth only gets worse with size, so what is extrapolated may prove, not disprove.
    return value <= limit
      ? Budget(what, limit: text, measured: measured, holds: true)
      : Budget(what, limit: text, notMeasured: measured + ": give it a --cutoff of 100")
  }

  private func ratioText(_ value: Double) -> String {
    value < 0.01 ? "1/\(Int((1 / value).rounded()))" : Quantity.ratio(value)
  }

  private var growth: [Budget] {
    Self.shapes.map { shape in
      let what = "\(shape), growth from 10k on"
      let limit = "≤ exponent 1.05"
      guard let exponent = report.workload(shape)?.pairedExponent(from: 10_000) else {
        return Budget(what, limit: limit)
      }
      let text = Quantity.decimal(exponent, places: 3)
      return Budget(what, limit: limit, measured: text, holds: exponent <= 1.05)
    }
  }

  // MARK: Granularity

  private var efficiency: [Budget] {
    [EfficiencySweep.Pattern.trivial, .stencil].flatMap { pattern -> [Budget] in
      let what = "METG(50 %), \(pattern.rawValue)"
      let better = "\(what), better at every granularity"
      guard let sweep = report.efficiency.first(where: { $0.pattern == pattern }) else {
        return [Budget(what, limit: "≤ 1 µs"), Budget(better, limit: "≤ 1 × \(Self.dispatch)")]
      }
      let threshold = sweep.curve(Self.ours).minimumGranularity()
      let ratios = sweep.points.compactMap { point in
        point.ratios[Self.dispatch].map { (point.granularity, $0.median) }
      }
      let worst = ratios.max { $0.1 < $1.1 }
      return [
        Budget(what, limit: "≤ 1 µs", measured: threshold.text, holds: threshold.isAtMost(1e-6)),
        worst.map {
          Budget(
            better,
            limit: "≤ 1 × \(Self.dispatch)",
            measured: "at worst \(Quantity.ratio($0.1)), with tasks of \(Quantity.time($0.0))",
            holds: $0.1 <= 1
          )
        } ?? Budget(better, limit: "≤ 1 × \(Self.dispatch)"),
      ]
    }
  }

  private var roundTrip: Budget {
    ratio(
      "add one and wait",
      atMost: 1,
      workload: "round-trip-idle",
      to: Self.dispatch,
      from: 0
    )
  }

  private var sleepers: Budget {
    let what = "64 operations that block for 1 s"
    guard let workload = report.workload("sleepers"), let lane = workload.lane(Self.ours, at: 64),
      lane.minimum >= 1
    else { return Budget(what, limit: "≤ 2 s") }
    return Budget(
      what,
      limit: "≤ 2 s",
      measured: Quantity.time(lane.median),
      holds: lane.median <= 2
    )
  }

  // MARK: Memory

  private var memory: [Budget] {
    [(MemoryProbe.Kind.block, 256.0), (.advanced, 384)].map { kind, limit in
      let what = "a waiting \(kind.title)"
      let text = "≤ \(Int(limit)) bytes"
      guard let found = report.memory.first(where: { $0.kind == kind && $0.state == .queued })
      else { return Budget(what, limit: text) }
      return Budget(
        what,
        limit: text,
        measured: "\(Int(found.bytes.rounded())) bytes",
        holds: found.bytes.rounded() <= limit
      )
    }
  }

  private var smallStack: Budget {
    let what = "a chain on a stack of 512 KiB"
    guard let result = report.smallStack else { return Budget(what, limit: "survives") }
    return Budget(
      what,
      limit: "survives",
      measured: "\(Quantity.count(result.length)) operations: "
        + (result.isSurvived ? "built, run, released" : "crashed or lost some"),
      holds: result.isSurvived
    )
  }

  // MARK: The advanced layer

  private var advanced: [Budget] {
    let from = 10_000
    return [
      ratio(
        "AdvancedOperation, nothing attached",
        atMost: 1.5,
        workload: "advanced",
        "Advanced",
        to: "BlockOperation",
        from: from
      ),
      ratio(
        "one immediate condition, one observer",
        atMost: 3,
        workload: "advanced",
        "1 condition, 1 observer",
        to: "BlockOperation",
        from: from
      ),
      ratio(
        "one async condition",
        atMost: 1,
        workload: "async-condition",
        "async condition",
        to: "Task + Advanced",
        from: from
      ),
      ratio(
        "ResultOperation, async body",
        atMost: 1.3,
        workload: "result",
        "ResultOperation",
        to: "Task",
        from: from
      ),
      featuresNobodyUses,
    ]
  }

  /// Not a ratio: what an operation takes before anybody used anything of it.
  private var featuresNobodyUses: Budget {
    let what = "features nobody uses"
    let idle = report.memory.filter { $0.state == .idle && $0.kind != .foundation }
    guard !idle.isEmpty else { return Budget(what, limit: "nothing") }
    let text = idle.map { "idle \($0.kind.title) \(Int($0.bytes.rounded())) bytes" }
    return Budget(
      what,
      limit: "nothing",
      notMeasured: text.joined(separator: ", ") + ": see the profile"
    )
  }
}

extension EfficiencyCurve.Threshold {
  var text: String {
    switch self {
    case .at(let seconds): Quantity.time(seconds)
    case .below(let seconds): "below \(Quantity.time(seconds))"
    case .above(let seconds): "above \(Quantity.time(seconds))"
    case .unknown: "unknown"
    }
  }

  func isAtMost(_ limit: Double) -> Bool {
    switch self {
    case .at(let seconds), .below(let seconds): seconds <= limit
    case .above, .unknown: false
    }
  }
}
