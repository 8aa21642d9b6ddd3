import Foundation
import Testing
import WorkflowDocument
import WorkflowWfCommons

/// A WfCommons instance becomes a workflow.
@Suite struct `An instance of WfCommons` {
  /// Small, and with all that is read.
  private static let small = """
    {"name": "small", "schemaVersion": "1.5", "workflow": {
      "specification": {"tasks": [
        {"id": "split ID1", "name": "split", "parents": [], "children": ["work.1", "Work.1"]},
        {"id": "work.1", "name": "work", "parents": ["split ID1"], "children": []},
        {"id": "Work.1", "name": "work", "parents": ["split ID1", "split ID1"], "children": []}
      ]},
      "execution": {
        "tasks": [
          {"id": "split ID1", "runtimeInSeconds": 0.0, "coreCount": 1},
          {"id": "work.1", "runtimeInSeconds": 2.4, "coreCount": 2, "memoryInBytes": 3000000},
          {"id": "Work.1", "runtimeInSeconds": 60}
        ],
        "machines": [{"nodeName": "a", "cpu": {"coreCount": 4}}, {"nodeName": "b"}]
      }
    }}
    """

  private func workflow(
    _ json: String,
    options: WfCommonsImport.Options = .init()
  ) throws -> Workflow {
    try WfCommonsImport.workflow(fromJSON: json.utf8, options: options)
  }

  @Test func `becomes steps that sleep for the scaled time`() throws {
    let workflow = try workflow(Self.small, options: .init(scale: 0.05))
    #expect(
      WorkflowFile.text(of: workflow) == """
        name: small
        resources: {cpu: 4, memory: 3000000B}
        steps:
          - id: split_ID1
            command: [sleep, "0"]
            uses: {cpu: 1}
          - id: work.1
            needs: [split_ID1]
            command: [sleep, "0.12"]
            uses: {cpu: 2, memory: 3000000B}
          - id: Work.1_2
            needs: [split_ID1]
            command: [sleep, "3"]

        """
    )
  }

  @Test func `becomes steps that compute`() throws {
    let workflow = try workflow(Self.small, options: .init(work: .compute, name: "other"))
    #expect(workflow.name == "other")
    #expect(workflow.steps[1].command.text == "perl -e 1 while (times)[0] < $ARGV[0] 2.4")
  }

  @Test func `is read in its older shape, where parents are named`() throws {
    let json = """
      {"workflow": {"tasks": [
        {"name": "one", "id": "ID1", "parents": [], "runtime": 1, "cores": 1.0},
        {"name": "two", "id": "ID2", "parents": ["one"], "runtimeInSeconds": 2}
      ], "machines": []}}
      """
    let workflow = try workflow(json)
    #expect(workflow.name == "imported")
    #expect(workflow.steps.map(\.id) == ["ID1", "ID2"])
    #expect(workflow.steps[1].needs == ["ID1"])
    #expect(workflow.resources == ["cpu": ResourceAmount(1)])
  }

  @Test(arguments: [
    ("", "the file isn’t JSON: it ends in the middle of something"),
    ("{", "the file isn’t JSON: it ends in the middle of something"),
    ("{\"name\": 1,\n  tru}", "the file isn’t JSON at line 2, column 3: invalid value"),
    (
      #"{"workflow": {"tasks": [{"name": "a", "runtime": 1e308}]}}"#,
      "the task ‘a’ took 1e+308 seconds, which is more than 30 years"
    ),
    ("[]", "the top of the file has another type than it should have"),
    ("{}", "the instance has no ‘workflow’"),
    (#"{"workflow": {}}"#, "the instance has no ‘workflow.specification.tasks’"),
    (
      #"{"workflow": {"tasks": [{"name": "a", "parents": ["b", 3]}]}}"#,
      "‘workflow.tasks.0.parents.1’ has another type than it should have"
    ),
    (#"{"workflow": {"tasks": []}}"#, "the instance has no tasks"),
    (
      """
      {"workflow": {"tasks": [{}, {"name": "a"}, {"name": "a"}, {"name": "b", "runtime": -1}, {
        "name": "c", "runtime": 1, "cores": 0, "memoryInBytes": -4}]}}
      """,
      """
      the 1. task has no ‘id’
      the task ‘a’ has no ‘runtimeInSeconds’
      two tasks are called ‘a’
      the time of the task ‘b’ is -1.0 seconds
      the task ‘c’ has 0.0 processors
      the task ‘c’ has -4.0 bytes of memory
      """
    ),
    (
      #"{"workflow": {"specification": {"tasks": [{"id": "a"}]}, "execution": {"tasks": []}}}"#,
      "the task ‘a’ has no record in ‘workflow.execution.tasks’"
    ),
    (
      #"{"workflow": {"tasks": [{"name": "a", "runtime": 1, "parents": ["x"]}]}}"#,
      "the task ‘a’ has the parent ‘x’, which doesn’t exist"
    ),
    (
      """
      {"workflow": {"tasks": [
        {"name": "a", "runtime": 1, "parents": ["b"]}, {"name": "b", "runtime": 1, "parents": ["a"]},
        {"name": "c", "runtime": 1, "parents": ["c"]}]}}
      """,
      """
      tasks are parents of each other in a cycle: c → c
      tasks are parents of each other in a cycle: a → b → a
      """
    ),
  ])
  func `that is damaged is refused with what is wrong`(json: String, message: String) {
    let error = #expect(throws: WfCommonsError.self) { try workflow(json) }
    #expect(error?.description == message)
  }

  @Test(arguments: [0, -1, .infinity, .nan])
  func `has no scale like that`(scale: Double) {
    #expect(throws: WfCommonsError.self) { try workflow(Self.small, options: .init(scale: scale)) }
  }

  private static let folder = ProcessInfo.processInfo.environment["OPERATIONS_TEST_DATA"]

  /// Tasks and edges as the data's own description counts them.
  @Test(
    .enabled(if: folder != nil, "SKIPPED: OPERATIONS_TEST_DATA isn't set"),
    arguments: [
      ("helloworld-chain-5-chameleon", 5, 4), ("scrnaseq-dirt02-001", 14, 17),
      ("srasearch-chameleon-10a-003", 22, 30),
      ("epigenomics-chameleon-hep-1seq-100k-001", 41, 48),
      ("blast-chameleon-small-001", 43, 120), ("montage-chameleon-dss-05d-001", 58, 114),
      ("cycles-chameleon-5l-1c-9p-001", 331, 485), ("seismology-chameleon-1000p-001", 1001, 1000),
      ("bwa-chameleon-large-001", 1004, 4000),
    ]
  )
  func `that was really recorded becomes a file that is read again`(
    name: String,
    tasks: Int,
    edges: Int
  ) throws {
    let path = "\(try #require(Self.folder))/wfcommons/\(name).json"
    let json = try Data(contentsOf: URL(filePath: path))
    var workflow = try WfCommonsImport.workflow(fromJSON: json, options: .init(scale: 0.001))
    #expect(workflow.steps.count == tasks)
    #expect(workflow.steps.map(\.needs.count).reduce(0, +) == edges)
    let text = WorkflowFile.text(of: workflow)
    let read = try WorkflowFile.workflow(from: text, name: "other")
    for index in workflow.steps.indices { workflow.steps[index].line = read.steps[index].line }
    #expect(read == workflow)
    // Damaged on its way: no half of it is taken for all of it.
    #expect(throws: WfCommonsError.self) {
      try WfCommonsImport.workflow(fromJSON: json.prefix(json.count / 2))
    }
  }
}
