// The end of an operation whose queue a simulation has abandoned: it never finishes.

extension Operation {
  /// Releases what the operation holds, because nothing will run it any more.
  ///
  /// Code of the program isn't called, except by a `deinit`. The operation keeps its state and its
  /// name; it has no dependencies from here on.
  package final func wasAbandoned() {
    layer?.releaseAsAbandoned()
    letGoOfWork()
    let completion = withLinks { $0.extra?.completionBlock.take() }
    withExtendedLifetime(completion) {}
    forgetDependencies()
  }

  /// Removes all dependencies, finished or not.
  ///
  /// - Complexity: O(n), n the number of dependencies that are released, with constant stack depth.
  package final func forgetDependencies() {
    unlinkDependencies()
    let dependencies = withDependencyList { exchange(&$0, with: DependencyList()) }
    // Another thread may have added one that is still linked.
    DependencyTeardown.release(dependencies, areOpen: true)
  }
}
