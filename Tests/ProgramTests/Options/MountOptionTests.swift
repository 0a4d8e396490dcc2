import Testing

@testable import rankfs

@Suite struct MountOptionTests {
    @Test(arguments: [
        ("", [""]), ("a", ["a"]), ("a,b=c", ["a", "b=c"]), (#"a=b\,c,d"#, ["a=b,c", "d"]),
        (#"a=\\,b"#, [#"a=\"#, "b"]),
        (#"a="b,c",d"#, [#"a="b,c""#, "d"]), (#"a="b" c,d"#, [#"a="b" c"#, "d"]), (#"a=b"c,d""#, [#"a=b"c"#, #"d""#]),
        (#"a=\x"#, [#"a=\x"#]), (#"a\"#, [#"a\"#]), (",,", ["", "", ""]), ("a=b=c", ["a=b=c"]),
    ])
    func lists(_ text: String, items: [String]) {
        #expect(MountOptions.items(of: text) == items)
    }

    @Test func eachItemFindsItsPlace() throws {
        var options = MountOptions()
        try options.add(
            list:
                "rw,noauto,nofail,user,_netdev,x-systemd.automount,X-mount.mkdir,comment=a,dev,suid,exec,defaults,relatime,"
                + "noatime,nosymfollow,ro,fsname=evil,subtype=evil,allow_other,max_read=4096,uid=1000,gid=100,cache-size=50M,top=3,,"
        )
        #expect(options.passedOn == ["allow_other", "max_read=4096"])
        #expect(options.user == 1000)
        #expect(options.group == 100)
        #expect(
            options.assignments == [
                Assignment(name: "cache_size", value: "50M", place: .commandLine),
                Assignment(name: "top", value: "3", place: .commandLine),
            ])
    }

    @Test(arguments: [
        "nonsense", "top", "allow_other=1", "uid", "uid=x", "uid=-1", "gid=4294967295", "max_read=", "--foreground",
        "-f", "=x",
        "setuid", "setuid=", "remount=1", "umask", "umask=", "umask=8", "umask=01000", "umask=-1", "umask=0x7",
        "umask=00007", "user_id=0", "fd=3",
    ])
    func wrongItems(_ item: String) {
        var options = MountOptions()
        #expect(throws: ProgramError.self) { try options.add(list: "ro,\(item)") }
    }

    @Test func sloppyLeavesOnlyTheUnknownOut() throws {
        var options = MountOptions()
        try options.add(list: "nonsense,top=3,alow_other", sloppy: true)
        #expect(options.assignments.map(\.name) == ["top"])
        #expect(options.passedOn.isEmpty)
    }

    @Test func aListSurvivesTheWayToAnotherProcess() throws {
        var options = MountOptions()
        try options.add(list: #"user_agent=a\,b\\c d=e,allow_other,uid=7,gid=8,cache_dir=/x\,y,umask=027,setuid=a\,b"#)
        var again = MountOptions()
        try again.add(list: options.list)
        #expect(again == options)
        #expect(options.mask == 0o27 && options.account == "a,b")
        #expect(options.assignments[0].value == #"a,b\c d=e"#)

        let joined = "/c/x,\u{301}y\\\u{301}"
        var accents = MountOptions()
        accents.assignments = [Assignment(name: "cache_dir", value: joined, place: .commandLine)]
        #expect(MountOptions.items(of: accents.list) == ["cache_dir=\(joined)"])
        try again.add(list: "tags=\u{301}a")
        #expect(again.assignments.last?.name == "tags" && again.assignments.last?.value == "\u{301}a")
    }

    @Test func blanksAroundANameAreNoPartOfIt() throws {
        var options = MountOptions()
        try options.add(list: "ro, top =3, noauto ,allow_other , ")
        #expect(options.assignments == [Assignment(name: "top", value: "3", place: .commandLine)])
        #expect(options.passedOn == ["allow_other"])
    }

    @Test func aValueLosesItsQuotes() throws {
        var options = MountOptions()
        try options.add(list: #"tags="風景 -a,b",cache_dir="/x y",setuid="alice",user_agent="a" b,proxy=""c"""#)
        #expect(options.assignments.map(\.value) == ["風景 -a,b", "/x y", #""a" b"#, #""c""#])
        #expect(options.account == "alice")
        var again = MountOptions()
        try again.add(list: options.list)
        #expect(again == options, "on the way to another process too")
        for open in [#"tags="a"#, #"tags=""#, #"cache_dir="/a,b""#.replacing("b\"", with: "b")] {
            #expect(throws: ProgramError.usage("option \(open.prefix { $0 != "=" }): the quote does not end.")) {
                try options.add(list: open)
            }
        }
    }

    @Test func everyMountIsReadOnlyAndOurs() throws {
        var request = MountRequest()
        try request.options.add(list: "rw,dev,suid,exec,fsname=evil,allow_other")
        #expect(
            MountService.mountOptions(request) == [
                "ro", "nosuid", "nodev", "noexec", "default_permissions", "fsname=pixiv", "subtype=rankfs",
                "allow_other",
            ])
    }

    @Test func theServingProcessUnderstandsItsArguments() throws {
        var request = MountRequest(source: .demo, mountPoint: "-odd name")
        try request.options.add(list: #"top=3,user_agent=a\,b,allow_other"#)
        let arguments = request.servingArguments
        request.foreground = true
        request.readyDescriptor = 3
        #expect(try parsed(Array(arguments.dropFirst())).arguments.request == request)
    }
}
