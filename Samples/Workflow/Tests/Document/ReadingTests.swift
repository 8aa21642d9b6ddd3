import Testing
import WorkflowDocument

/// What a file says arrives in the steps.
@Suite struct `A workflow is read` {
  private func workflow(_ text: String) throws -> Workflow {
    try WorkflowFile.workflow(from: text, name: "file")
  }

  @Test func `with one combination of a step that another one needs`() throws {
    let workflow = try workflow(
      """
      steps:
        - {id: build, command: x, outputs: [file], matrix: {os: [linux, macos], v: [1, 2]}}
        - id: test
          matrix: {os: [macos, linux]}
          needs: build@${{ matrix.os }},2
          command: ./test ${{ steps.build.file }}
          env: {FILE: "${{ steps.build.file }}"}
        - {id: ship, needs: [test, "build@linux,1"], command: "./ship ${{ steps.build.file }}"}
        - {id: all, needs: [build, "build@linux,1"], command: x}
      """
    )
    let steps = Dictionary(uniqueKeysWithValues: workflow.steps.map { ($0.id, $0) })
    let test = try #require(steps["test@macos"])
    #expect(test.needs == ["build@macos,2"])
    #expect(test.command.text == "./test ${{ steps.build@macos,2.file }}")
    #expect(test.environment["FILE"]?.text == "${{ steps.build@macos,2.file }}")
    #expect(steps["test@linux"]?.needs == ["build@linux,2"])
    #expect(steps["ship"]?.needs == ["test@macos", "test@linux", "build@linux,1"])
    #expect(steps["ship"]?.command.text == "./ship ${{ steps.build@linux,1.file }}")
    #expect(steps["all"]?.needs.count == 4)
  }

  @Test func `with parameters, which get values`() throws {
    let workflow = try workflow(
      """
      parameters: {version: , target: "", n: 1.10}
      secrets: TOKEN
      env-file: [.env, other]
      steps: [{id: a, command: "x ${{ parameters.version }}"}]
      """
    )
    #expect(workflow.parameters == ["version": nil, "target": "", "n": "1.10"])
    #expect(workflow.secrets == ["TOKEN"])
    #expect(workflow.environmentFiles == [".env", "other"])
    #expect(workflow.steps[0].command == .shell(Template([.text("x "), .parameter("version")])))
    #expect(throws: Workflow.ParameterProblem.missing(["version"])) { try workflow.setting([:]) }
    let set = try workflow.setting(["version": "2"])
    #expect(set.parameters == ["version": "2", "target": "", "n": "1.10"])
    let values = try set.values(for: set.steps[0], inherited: [:], outputs: [:], run: "r")
    #expect(
      try set.steps[0].command.filled(values)
        == .shell(
          "x \"${WORKFLOW_parameters_version}\"",
          variables: ["WORKFLOW_parameters_version": "2"]
        )
    )
  }

  @Test func `with every key that there is`() throws {
    let workflow = try workflow(
      """
      name: release
      env: {CONFIGURATION: release}
      resources: {cpu: 4, memory: 8GiB}
      defaults: {timeout: 10m, retry: 2}
      steps:
        - id: build
          command: swift build -c ${{ env.CONFIGURATION }}
          when: {newer: {inputs: [Sources, Package.swift], outputs: .build/release/app}}
          require:
            exists: Package.swift
            free-disk: {at-least: 1GiB, at: .}
            reachable: example.org:443
            env: TOKEN
          uses: {cpu: 2, memory: 1GiB}
          outputs: [version]
        - id: test
          needs: build
          matrix: {os: [linux, macos], swift: ["6.2", 6.30]}
          command: ./test.sh ${{ matrix.os }} ${{ steps.build.version }}
          retry:
            attempts: 3
            delay: 1500ms
            backoff: linear
            max-delay: 30s
            jitter: true
            total: 5m
            retry-after: 2m
          timeout: 90s
          exclusive: database
          rate: {registry: 10/min}
        - id: publish
          needs: [test]
          command: [cp, app.tar, "out/${{ run.id }}"]
          on-rollback: rm -f out/app.tar
          env: {A: b}
          cwd: dist
          retry: none
          timeout: none
        - id: report
          needs: [publish, test]
          when: {outcome: "failed(publish) || skipped(test)"}
          command: ./report.sh
      """
    )
    #expect(workflow.name == "release")
    #expect(workflow.environment == ["CONFIGURATION": Template(text: "release")])
    #expect(workflow.resources["cpu"] == ResourceAmount(4))
    #expect(workflow.resources["memory"] == ResourceAmount(8 << 30, .bytes))
    var build = Step(
      id: "build",
      command: .shell(
        Template([.text("swift build -c "), .environment("CONFIGURATION")])
      ),
      line: 6
    )
    build.when = [
      .newer(
        inputs: [Template(text: "Sources"), Template(text: "Package.swift")],
        outputs: [Template(text: ".build/release/app")]
      )
    ]
    build.require = [
      .exists([Template(text: "Package.swift")]),
      .freeDisk(bytes: 1 << 30, path: Template(text: ".")),
      .reachable(host: Template(text: "example.org"), port: 443),
      .environment(name: "TOKEN", value: nil),
    ]
    build.uses = ["cpu": ResourceAmount(2), "memory": ResourceAmount(1 << 30, .bytes)]
    build.outputs = ["version"]
    build.timeout = .seconds(600)
    build.retry = RetryRule(attempts: 2)
    let tests = workflow.steps.filter { $0.base == "test" }.map(\.id)
    #expect(tests == ["test@linux,6.2", "test@linux,6.30", "test@macos,6.2", "test@macos,6.30"])
    let test = try #require(workflow.steps.first { $0.id == "test@macos,6.30" })
    #expect(test.needs == ["build"])
    #expect(test.matrix.map(\.name) == ["os", "swift"])
    #expect(test.matrix.map(\.value) == ["macos", "6.30"])
    #expect(
      test.command
        == .shell(
          Template([
            .text("./test.sh "), .matrix("os"), .text(" "),
            .output(step: "build", name: "version"),
          ])
        )
    )
    var retry = RetryRule(attempts: 3)
    retry.delay = .milliseconds(1500)
    retry.backoff = .linear
    retry.maximumDelay = .seconds(30)
    retry.hasJitter = true
    retry.total = .seconds(300)
    retry.retryAfter = .seconds(120)
    #expect(test.retry == retry)
    #expect(test.timeout == .seconds(90))
    #expect(test.exclusive == ["database"])
    #expect(test.rates == [Rate(key: "registry", count: 10, per: .seconds(60))])
    var publish = Step(
      id: "publish",
      command: .arguments([
        Template(text: "cp"), Template(text: "app.tar"), Template([.text("out/"), .run]),
      ]),
      line: 31
    )
    publish.needs = tests
    publish.rollback = .shell(Template(text: "rm -f out/app.tar"))
    publish.environment = ["A": Template(text: "b")]
    publish.workingDirectory = Template(text: "dist")
    #expect(workflow.steps.first == build)
    #expect(workflow.steps.first { $0.id == "publish" } == publish)
    let report = try #require(workflow.steps.last)
    let skipped = tests.map { OutcomeExpression.step($0, is: .skipped) }
    #expect(
      report.when == [
        .outcome(
          .or(
            .step("publish", is: .failed),
            .or(.or(skipped[0], skipped[1]), .or(skipped[2], skipped[3]))
          )
        )
      ]
    )
  }
}
