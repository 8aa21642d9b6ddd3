// swift-tools-version: 6.2
import PackageDescription

let programs = [
  "hello", "guarded", "async-condition", "observer", "cancel-with-error", "exclusive", "group",
  "results", "retry", "timeout", "share", "explain",
]

let package = Package(
  name: "Examples",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "AdvancedOperations", path: "../..")],
  targets: programs.map { name in
    .executableTarget(
      name: name,
      dependencies: [.product(name: "AdvancedOperations", package: "AdvancedOperations")]
    )
  } + [
    .testTarget(
      name: "TestingExample",
      dependencies: [
        .product(name: "AdvancedOperationsTesting", package: "AdvancedOperations")
      ],
      path: "Tests/testing"
    )
  ]
)
