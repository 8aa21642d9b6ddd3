import WorkflowDocument

extension RunFolder {
  /// The steps whose processes go on although nobody runs them: their program was killed.
  ///
  /// - Returns: Their ids, in order; none while the run is going on, and none of those of a cluster.
  public var leftoverSteps: [String] {
    guard !isRunning, let contents = try? JournalFile.contents(of: journal) else { return [] }
    let open = RunProgress(contents.records, of: Workflow(name: contents.header.workflow)).open
    return open.filter { LocalHandle($0.value.handle)?.group?.isThere == true }.keys.sorted()
  }
}
