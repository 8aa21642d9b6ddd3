import Testing

/// What is wrong with times, amounts, rates, hosts and rules.
@Suite struct `A mistake in a value` {
  @Test(arguments: [
    FileMistake(
      "times that are none",
      """
      steps:
        - {id: a, command: x, timeout: 10}
        - {id: b, command: x, timeout: 0s}
        - {id: c, command: x, timeout: -5s}
        - {id: d, command: x, timeout: 5 min}
        - {id: e, command: x, timeout: 5min}
        - {id: f, command: x, timeout: 30m1h}
        - {id: g, command: x, timeout: 99999999999999999999d}
        - {id: h, command: x, timeout: soon}
        - {id: i, command: x, timeout: [5s]}
        - {id: j, command: x, timeout: }
      """,
      """
      f.yml:2:34: error: the time ‘10’ has no unit
       2 |   - {id: a, command: x, timeout: 10}
         |                                  ^
         help: seconds are ‘10s’

      f.yml:3:34: error: ‘timeout’ has to be more than ‘0s’
       3 |   - {id: b, command: x, timeout: 0s}
         |                                  ^

      f.yml:4:34: error: the time ‘-5s’ is negative
       4 |   - {id: c, command: x, timeout: -5s}
         |                                  ^

      f.yml:5:34: error: ‘5 min’ isn’t a time
       5 |   - {id: d, command: x, timeout: 5 min}
         |                                  ^
         help: units are ms, s, m, h and d

      f.yml:6:34: error: a time has no unit ‘min’
       6 |   - {id: e, command: x, timeout: 5min}
         |                                  ^
         help: did you mean ‘m’?

      f.yml:7:34: error: ‘30m1h’ isn’t a time
       7 |   - {id: f, command: x, timeout: 30m1h}
         |                                  ^
         help: units go from large to small: ‘1h30m’

      f.yml:8:34: error: the time ‘99999999999999999999d’ is too long
       8 |   - {id: g, command: x, timeout: 99999999999999999999d}
         |                                  ^
         help: at most 1000d

      f.yml:9:34: error: ‘soon’ isn’t a time
       9 |   - {id: h, command: x, timeout: soon}
         |                                  ^
         help: times are like ‘90s’, ‘10m’ or ‘1h30m’

      f.yml:10:34: error: ‘timeout’ is a text, not a list
       10 |   - {id: i, command: x, timeout: [5s]}
          |                                  ^

      f.yml:11:34: error: ‘timeout’ is a text, not nothing
       11 |   - {id: j, command: x, timeout: }
          |                                  ^
      """
    ),
    FileMistake(
      "amounts that are none",
      """
      resources: {cpu: 0, gpu: -1, disk: 1GIG, memory: 99999999TiB, net: 2.5, licence: 1e3}
      steps: [{id: a, command: x}]
      """,
      """
      f.yml:1:18: error: an amount is at least 1, not ‘0’
       1 | resources: {cpu: 0, gpu: -1, disk: 1GIG, memory: 99999999TiB, net: 2.5, licence: 1e3}
         |                  ^

      f.yml:1:26: error: the amount ‘-1’ is negative
       1 | resources: {cpu: 0, gpu: -1, disk: 1GIG, memory: 99999999TiB, net: 2.5, licence: 1e3}
         |                          ^

      f.yml:1:36: error: ‘1GIG’ isn’t an amount: there is no unit ‘GIG’
       1 | resources: {cpu: 0, gpu: -1, disk: 1GIG, memory: 99999999TiB, net: 2.5, licence: 1e3}
         |                                    ^
         help: did you mean ‘GiB’?

      f.yml:1:50: error: ‘99999999TiB’ is too much
       1 | resources: {cpu: 0, gpu: -1, disk: 1GIG, memory: 99999999TiB, net: 2.5, licence: 1e3}
         |                                                  ^

      f.yml:1:68: error: an amount is a whole number, not ‘2.5’
       1 | resources: {cpu: 0, gpu: -1, disk: 1GIG, memory: 99999999TiB, net: 2.5, licence: 1e3}
         |                                                                    ^

      f.yml:1:82: error: ‘1e3’ isn’t an amount: there is no unit ‘e3’
       1 | resources: {cpu: 0, gpu: -1, disk: 1GIG, memory: 99999999TiB, net: 2.5, licence: 1e3}
         |                                                                                  ^
         help: units are KiB, MiB, GiB, TiB, KB, MB, GB, TB and B
      """
    ),
    FileMistake(
      "sizes of a disk that are none",
      """
      steps:
        - {id: a, command: x, require: {free-disk: 512}}
        - {id: b, command: x, require: {free-disk: {at: .}}}
      """,
      """
      f.yml:2:46: error: the size ‘512’ has no unit
       2 |   - {id: a, command: x, require: {free-disk: 512}}
         |                                              ^
         help: ‘512MiB’?

      f.yml:3:46: error: ‘free-disk’ needs ‘at-least’
       3 |   - {id: b, command: x, require: {free-disk: {at: .}}}
         |                                              ^
      """
    ),
    FileMistake(
      "rates that are none",
      "steps:\n  - {id: a, command: x, rate: {a: 10, b: 0/min, c: 10/minit, d: 1/0s, e: 10/}}\n",
      """
      f.yml:2:35: error: ‘10’ isn’t a rate
       2 |   - {id: a, command: x, rate: {a: 10, b: 0/min, c: 10/minit, d: 1/0s, e: 10/}}
         |                                   ^
         help: rates are like ‘10/min’ or ‘1/30s’

      f.yml:2:42: error: the count of a rate is at least 1, not ‘0’
       2 |   - {id: a, command: x, rate: {a: 10, b: 0/min, c: 10/minit, d: 1/0s, e: 10/}}
         |                                          ^

      f.yml:2:52: error: ‘minit’ isn’t a time of a rate
       2 |   - {id: a, command: x, rate: {a: 10, b: 0/min, c: 10/minit, d: 1/0s, e: 10/}}
         |                                                    ^
         help: rates are like ‘10/min’ or ‘1/30s’

      f.yml:2:65: error: the time of the rate ‘1/0s’ is zero
       2 |   - {id: a, command: x, rate: {a: 10, b: 0/min, c: 10/minit, d: 1/0s, e: 10/}}
         |                                                                 ^

      f.yml:2:74: error: ‘’ isn’t a time of a rate
       2 |   - {id: a, command: x, rate: {a: 10, b: 0/min, c: 10/minit, d: 1/0s, e: 10/}}
         |                                                                          ^
         help: rates are like ‘10/min’ or ‘1/30s’
      """
    ),
    FileMistake(
      "hosts that can't be reached",
      """
      steps:
        - id: a
          command: x
          require:
            reachable:
              - example.org
              - example.org:0
              - example.org:70000
              - example.org:http
              - https://example.org/path
              - ::1:80
              - :443
      """,
      """
      f.yml:6:11: error: the host ‘example.org’ has no port
       6 |         - example.org
         |           ^
         help: like ‘example.org:443’

      f.yml:7:11: error: a port is from 1 to 65535, not ‘0’
       7 |         - example.org:0
         |           ^

      f.yml:8:11: error: a port is from 1 to 65535, not ‘70000’
       8 |         - example.org:70000
         |           ^

      f.yml:9:11: error: a port is a number, not ‘http’
       9 |         - example.org:http
         |           ^

      f.yml:10:11: error: ‘https://example.org/path’ is an address, not a host
       10 |         - https://example.org/path
          |           ^
          help: write ‘example.org:443’

      f.yml:11:11: error: an address with colons is in brackets
       11 |         - ::1:80
          |           ^
          help: write ‘[::1]:80’

      f.yml:12:11: error: ‘:443’ has no host before its port
       12 |         - :443
          |           ^
      """
    ),
    FileMistake(
      "counts of attempts that are none",
      """
      steps:
        - {id: a, command: x, retry: 0}
        - {id: b, command: x, retry: often}
        - {id: c, command: x, retry: 9999999999999999999999}
        - {id: d, command: x, retry: {}}
        - {id: e, command: x, retry: {attempts: 3, backof: linear, jitter: maybe}}
        - {id: f, command: x, retry: {attempts: 3, backoff: quadratic}}
      """,
      """
      f.yml:2:32: error: the number of attempts is at least 1, not ‘0’
       2 |   - {id: a, command: x, retry: 0}
         |                                ^

      f.yml:3:32: error: the number of attempts is a whole number, not ‘often’
       3 |   - {id: b, command: x, retry: often}
         |                                ^

      f.yml:4:32: error: the number ‘9999999999999999999999’ is too large
       4 |   - {id: c, command: x, retry: 9999999999999999999999}
         |                                ^

      f.yml:5:32: error: ‘retry’ says neither how often nor how long
       5 |   - {id: d, command: x, retry: {}}
         |                                ^
         help: add ‘attempts’ or ‘total’

      f.yml:6:46: error: ‘retry’ has no key ‘backof’
       6 |   - {id: e, command: x, retry: {attempts: 3, backof: linear, jitter: maybe}}
         |                                              ^
         help: did you mean ‘backoff’?

      f.yml:6:70: error: ‘jitter’ is ‘true’ or ‘false’, not ‘maybe’
       6 |   - {id: e, command: x, retry: {attempts: 3, backof: linear, jitter: maybe}}
         |                                                                      ^

      f.yml:7:55: error: ‘backoff’ can’t be ‘quadratic’
       7 |   - {id: f, command: x, retry: {attempts: 3, backoff: quadratic}}
         |                                                       ^
         help: it is ‘constant’, ‘linear’ and ‘exponential’
      """
    ),
    FileMistake(
      "rules of retries that make no sense",
      """
      steps:
        - {id: a, command: x, retry: {attempts: 1, delay: 5s}}
        - {id: b, command: x, retry: {attempts: 3, delay: 0s, jitter: true}}
        - {id: c, command: x, retry: {attempts: 3, backoff: constant, max-delay: 1m}}
        - {id: d, command: x, retry: {attempts: 3, delay: 1m, max-delay: 5s}}
        - {id: e, command: x, retry: {attempts: 3, delay: 1m, total: 5s}}
        - {id: f, command: x, retry: {attempts: 1, retry-after: 5m}}
        - {id: g, command: x, retry: {attempts: 2, retry-after: soon}}
      """,
      """
      f.yml:2:46: error: with one attempt, there is nothing to wait for
       2 |   - {id: a, command: x, retry: {attempts: 1, delay: 5s}}
         |                                              ^

      f.yml:3:57: error: without a delay, there is nothing to change about it
       3 |   - {id: b, command: x, retry: {attempts: 3, delay: 0s, jitter: true}}
         |                                                         ^

      f.yml:4:65: error: a constant delay has no ‘max-delay’
       4 |   - {id: c, command: x, retry: {attempts: 3, backoff: constant, max-delay: 1m}}
         |                                                                 ^

      f.yml:5:57: error: ‘max-delay’ is less than the delay of 1m
       5 |   - {id: d, command: x, retry: {attempts: 3, delay: 1m, max-delay: 5s}}
         |                                                         ^

      f.yml:6:57: error: ‘total’ is no more than the delay of 1m, so there is no second attempt
       6 |   - {id: e, command: x, retry: {attempts: 3, delay: 1m, total: 5s}}
         |                                                         ^

      f.yml:7:46: error: with one attempt, there is nothing to wait for
       7 |   - {id: f, command: x, retry: {attempts: 1, retry-after: 5m}}
         |                                              ^

      f.yml:8:59: error: ‘soon’ isn’t a time
       8 |   - {id: g, command: x, retry: {attempts: 2, retry-after: soon}}
         |                                                           ^
         help: times are like ‘90s’, ‘10m’ or ‘1h30m’
      """
    ),
  ])
  func `is shown as a compiler shows it`(mistake: FileMistake) { mistake.check() }
}
