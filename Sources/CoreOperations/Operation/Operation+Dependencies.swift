extension Operation {
  /// Makes this operation wait until each of several operations has finished, regardless of their
  /// outcomes.
  ///
  /// The method calls ``addDependency(_:)`` for each operation, in order. If this operation is
  /// already in a queue and has no other dependencies, it may start before all dependencies are
  /// added. This happens if the dependencies that were added first have finished.
  ///
  /// ```swift
  /// let merge = BlockOperation { mergeAll() }
  /// merge.addDependencies(downloads)
  /// ```
  ///
  /// - Parameter operations: The dependencies, in any queue or none, finished or not.
  /// - Complexity: O(n), amortized, n the number of operations.
  public final func addDependencies<Operations: Sequence>(_ operations: Operations)
  where Operations.Element: Operation {
    for operation in operations { addDependency(operation) }
  }

  /// - Complexity: O(1), amortized.
  final func linkDependency(_ dependency: Operation) {
    if dependency === self {
      leaveCycle(because: OperationCycleError(path: [nameAndTag, nameAndTag]))
      return
    }
    var isLinked = false
    let progress = withDependencyList { list -> OperationReadiness.Progress in
      guard unsafe list.edge(to: dependency) == nil else { return .none }
      let edge = unsafe DependencyEdge.make(dependent: self, dependency: dependency)
      unsafe list.append(edge)
      let life = life.current
      guard life.phase <= .enqueued, !readiness.current.isDropped else { return .none }
      // The dependency is counted before it is linked, or its end could be counted first.
      readiness.step { $0.dependencyAdded() }
      isLinked = dependency.withLinks { links in
        if links.isClosed { return false }
        unsafe links.dependents.link(edge)
        return true
      }
      // This operation may have finished in the meantime, before the edge was counted. In that case it has
      // unlinked the edges that were linked by then, and no edge may remain that outlives its membership. An
      // operation that wasn't in a queue until now will be added to a queue later, and so counts this edge.
      if isLinked, self.life.current.phase != .created, withLinks({ $0.isClosed }) {
        isLinked = !dependency.withLinks { unsafe $0.dependents.unlink(edge) }
      }
      // The dependency had finished. Another dependency may have finished while this edge was counted, and
      // then this step has to find that no dependency is open.
      return isLinked ? .none : readiness.step { $0.dependencyResolved() }
    }
    offerToQueue(ifMoved: progress)
    if isLinked { noteEdge(to: dependency) }
  }

  private func offerToQueue(ifMoved progress: OperationReadiness.Progress) {
    if progress == .none { return }
    withLinks { $0.scheduler }?.offered(self)
  }

  final func unlinkDependency(_ dependency: Operation) {
    let (removed, progress) = withDependencyList { list in
      guard let edge = unsafe list.edge(to: dependency) else {
        return (Operation?.none, OperationReadiness.Progress.none)
      }
      let wasLinked = dependency.withLinks { unsafe $0.dependents.unlink(edge) }
      unsafe list.remove(edge)
      let progress = wasLinked ? readiness.step { $0.dependencyResolved() } : .none
      return (unsafe DependencyEdge.destroy(edge), progress)
    }
    offerToQueue(ifMoved: progress)
    withExtendedLifetime(removed) {}
  }

  /// Stops waiting for the open dependencies, which stay in the list.
  ///
  /// - Complexity: O(n), n the number of dependencies.
  final func unlinkDependencies() {
    withDependencyList { list in
      unsafe list.forEach { edge in
        unsafe edge.pointee.dependency._withUnsafeGuaranteedRef { dependency in
          let wasLinked = dependency.withLinks { unsafe $0.dependents.unlink(edge) }
          if wasLinked { _ = readiness.step { $0.dependencyResolved() } }
        }
      }
    }
  }
}
