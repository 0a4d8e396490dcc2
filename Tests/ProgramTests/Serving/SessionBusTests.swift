import Testing

@testable import rankfs

/// Which bus notifications go to: the user's own, if it runs.
@Suite struct SessionBusTests {
    /// The bus of user 1000 among sockets that exist.
    private func find(
        _ variables: [String: String] = [:], user: UInt32 = 1000, sockets: [String: UInt32] = [:]
    ) -> String? {
        DesktopNotices.bus(variables, user: user) { sockets[$0] }
    }

    private func find(_ address: String, user: UInt32 = 1000, sockets: [String: UInt32] = [:]) -> String? {
        find(["DBUS_SESSION_BUS_ADDRESS": address], user: user, sockets: sockets)
    }

    @Test func theEnvironmentGoesFirst() {
        let sockets: [String: UInt32] = ["/a": 1000, "/run/x/bus": 1000, "/run/user/1000/bus": 1000]
        #expect(find("unix:path=/a,guid=0123", sockets: sockets) == "unix:path=/a")
        #expect(find(["XDG_RUNTIME_DIR": "/run/x"], sockets: sockets) == "unix:path=/run/x/bus")
        #expect(find(sockets: sockets) == "unix:path=/run/user/1000/bus")
        #expect(find("unix:path=/gone", sockets: sockets) == "unix:path=/run/user/1000/bus")
        #expect(find("tcp:host=h,port=1;unix:path=/gone;unix:path=/a", sockets: sockets) == "unix:path=/a")
        #expect(find("unix:abstract=/tmp/dbus-X,guid=1") == "unix:abstract=/tmp/dbus-X")
    }

    @Test func noBusIsStartedAndNoneOfAnothersIsUsed() {
        #expect(find() == nil)
        #expect(find(["XDG_RUNTIME_DIR": "relative"], sockets: ["relative/bus": 1000]) == nil)
        for address in [
            "", "autolaunch:", "unixexec:path=/bin/sh", "unix:runtime=yes", "tcp:host=h", "unix:path=", "unix:path",
            "unix:path=relative", "unix:abstract=", "unix:path=/a%", "unix:path=/a%4", "unix:path=/a%+4", "unix:",
        ] {
            #expect(find(address, sockets: ["relative": 1000, "/a": 1000, "": 1000]) == nil, "\(address)")
        }
        // Another user's, as sudo may leave it; a bus without an owner to look at would let root in.
        #expect(find("unix:path=/a", sockets: ["/a": 1001]) == nil)
        #expect(find("unix:path=/a", user: 0, sockets: ["/a": 1000]) == nil)
        #expect(find("unix:abstract=a", user: 0) == nil)
        #expect(find(["XDG_RUNTIME_DIR": "/run/user/1000"], user: 0, sockets: ["/run/user/1000/bus": 1000]) == nil)
    }

    @Test func pathsAreEscapedAsAddressesDemand() {
        #expect(find("unix:path=/a%20b%2c", sockets: ["/a b,": 1000]) == "unix:path=/a%20b%2C")
        #expect(find(["XDG_RUNTIME_DIR": "/é;="], sockets: ["/é;=/bus": 1000]) == "unix:path=/%C3%A9%3B%3D/bus")
        #expect(find("unix:path=/%ff", sockets: ["/\u{FFFD}": 1000]) == nil)
    }

    @Test func whatIsSaidHasARemedyAndNoMarkup() {
        #expect(DesktopNotices.signInAgain.contains("rankfs login"))
        #expect(!DesktopNotices.signInAgain.contains { "<>&".contains($0) })
    }
}
