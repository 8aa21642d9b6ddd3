import Foundation

/// All workloads by name.
struct Catalogue {
  var conditions = 4
  var observers = 4
  var isSmallest = false
  var processors = ProcessInfo.processInfo.activeProcessorCount
  var workflows: [WorkflowInstance] = []

  /// What is measured by sizes; the sweeps and probes have names of their own.
  var workloads: [any Workload] {
    let sleep = isSmallest ? Duration.milliseconds(10) : .seconds(1)
    let trips = [isSmallest ? 20 : 1_000]
    return GraphWorkload.all
      + workflows.map {
        RealWorkload(instance: $0, processors: processors, work: isSmallest ? 0.002 : 0.02)
      }
      + [
        SleeperWorkload(duration: sleep, ownSizes: [isSmallest ? 8 : 64]),
        RoundTripWorkload(pause: nil, ownSizes: trips),
        RoundTripWorkload(pause: .microseconds(200), ownSizes: trips),
        CancelWorkload(moment: .before),
        CancelWorkload(moment: .during),
        FeatureWorkload.advanced(conditions: conditions, observers: observers),
        FeatureWorkload.conditions,
        FeatureWorkload.asyncCondition,
        FeatureWorkload.fanIn,
        FeatureWorkload.claims,
        FeatureWorkload.observers,
        FeatureWorkload.results,
        FeatureWorkload.suspendingResults,
        FeatureWorkload.groups,
        FeatureWorkload.scopes,
        FeatureWorkload.rounds,
        FeatureWorkload.cancelTree,
        FeatureWorkload.queues,
        FeatureWorkload.diagnosis,
      ]
  }

  /// Names of what is measured in other ways.
  static let efficiency = "metg"
  static let memory = "memory"
  static let smallStack = "small-stack"
  static let others = [
    (efficiency, "the smallest tasks that keep the processors busy with themselves"),
    (memory, "bytes of an operation that is idle, queued, finished"),
    (smallStack, "a chain of a million on a stack of 512 KiB"),
  ]

  static let workflowPrefix = "wf-"

  /// Whether a list of names asks for a workload; an empty list asks for all.
  static func isWanted(_ name: String, _ names: [String]) -> Bool {
    names.isEmpty || names.contains(name)
      || name.hasPrefix(workflowPrefix) && names.contains("workflows")
  }
}
