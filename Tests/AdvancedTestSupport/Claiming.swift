package import AdvancedOperations
import AdvancedOperationsTesting

extension Work {
  /// One with claims that goes on until it is finished from outside.
  package static func claiming(_ name: String, _ claims: any OperationClaim...) -> Work {
    let work = Work.open(name)
    for claim in claims { work.addClaim(claim) }
    return work
  }

  /// What a claim was refused with.
  package var claimError: OperationClaimError? {
    (errors.first as? OperationConditionError)?.underlying as? OperationClaimError
  }
}

extension World {
  /// A pool of the simulation's own domain.
  package func pool(_ capacity: Int, _ name: String = "pool") -> ResourcePool {
    ResourcePool(name, capacity: capacity, domain: simulation.environment.claimDomain)
  }

  /// Finishes what executes, again and again, until nothing does.
  package func finishAll(_ works: [Work]) {
    while true {
      let open = works.filter { $0.isExecuting }
      if open.isEmpty { return }
      for work in open { work.finish() }
      simulation.run()
    }
  }
}
