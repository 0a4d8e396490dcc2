import Testing

@Suite struct WellTests {
    @Test(arguments: [1, 2]) func passes(number: Int) {}
    @Test func fails() { #expect(1 + 1 == 3) }
    @Test(.disabled("as it should")) func isSkipped() {}
    @Test func hasAKnownIssue() { withKnownIssue { Issue.record("known") } }
}
