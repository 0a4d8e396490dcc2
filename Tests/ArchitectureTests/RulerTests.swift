import Testing

/// How much there is to hold in the head may only become less; what makes it more says why, here.
@Suite struct RulerTests {
    /// Net lines, and what they are for.
    typealias Allowance = (net: Int, reason: String)

    /// The net lines that the product may have: the sum of these.
    ///
    /// Who takes code out lowers the first number to what is left. Who builds something new adds a line with its reason:
    /// ```swift
    /// (120, "tier: a picture comes from a machine in the same network, without the object store"),
    /// ```
    static let product: [Allowance] = [
        (34_374, "all that there was when lines were first counted, less what was taken out"),
        (15, "cache: a part that begins like the picture itself leaves the bytes of readers out of doubt"),
        (60, "sizes: requests that a copy does not need are withdrawn before they are sent"),
        (26, "cache: the first part of a picture for a copy tells its length, and of most it is all"),
        (70, "doors: series of authors, families of posts, favourites of users"),
        (104, "catalog: a listing is stored for its viewers: everybody, or an account"),
        (9, "desktop: gThumb's strip waits for thumbnails in place of reading the pictures of a folder"),
        (81, "doors: new works of followed authors, joined to what is stored; fetch names what is new"),
        (83, "doors: related works, a snapshot of a day, and collections"),
        (110, "doors: pools of boards by number and name, and the pools of a post as an attribute"),
        (96, "doors: options in the names of searches, of which any order is one listing"),
        (30, "doors: groups of favourites, and what is hot, which is replaced as a whole"),
        (24, "doctor: the pools of a post and what is hot are examined"),
        (130, "doors: tags and months of bookmarks and private ones, whose names no log shows"),
        (18, "doors: a picture names its series"),
        (110, "doors: the tags of an author, a list that names further lists"),
        (24, "pixiv: a list is empty only if the service says so"),
        (4, "pixiv: a page in place of JSON says nothing of the session"),
        (14, "boards: records of pools, and posts of another rating, are no empty lists"),
        (18, "catalog: a list of which nothing is shown, or the same page once more, is no empty or whole one"),
        (36, "doctor: series, related works and tags of authors are examined"),
        (9, "fs: what only an account saw is closed when its session ends"),
        (
            453,
            "tier: blocks that are given out as they come, a secret by which machines know each other, stores that are slow, late or "
                + "busy, machines that only read, answers and sizes that are replaced"
        ),
        (66, "tier: pages are compressed, and nobody waits for another machine's queue"),
        (14, "tier: a store without encryption and without a secret is a risk that the log names"),
        (481, "tier: keys that change, end, or come from a program or a role; addresses by the host's name; an owner"),
        (225, "tier: what is there of a path is removed; the age of pictures is that of their reading, and makes room"),
        (83, "render: nothing is decoded unconfined unless an option says so; a process of it ends with the mount's"),
        (5, "unmount: a mount that is in use for a moment is no error"),
        (58, "tier: a store with too many requests is asked less often and waited for, and does not rest"),
        (11, "tier: a store that refuses connections is tried soon; fuse: libfuse of Debian 13"),
        (17, "program: without arguments it names the next step on this machine"),
        (4, "catalog: one of a later version is left as it is, with a remedy"),
        (15, "cache: a disk that refuses is no wrong picture, and its syncs delay no proof and no deadline"),
        (14, "program: arguments that are no text, mounts that hang, and the largest read are what they say"),
        (75, "commands: what is dropped needs no request and no network, and what a pin lacks is counted"),
        (36, "commands: causes are named: of a path, a fetch, a read-only cache, a dead mount; shells do paths"),
        (17, "desktop: PCManFM-Qt's thread waits for thumbnails on a busy machine, and starts no preloads"),
        (
            180,
            "tier: a store that is further away than the service delays nobody, a pause is one of all machines, pictures that are gone, "
                + "the times of the store's answers"
        ),
        (18, "tier: what came while the store was away is brought together, behind what others wait for"),
        (34, "doors: names of places may be other pictures', tags that look like probes exist; a demo shares nothing"),
        (56, "catalog, cache: records outlive listings and deletions, busy disks are awaited"),
        (127, "tier: the previews of a day are shared, of which desktops make thumbnails"),
        (
            37,
            "doors: a copy is as private as its original, no line repeats a secret, pictures of an ended session tell nothing, a "
                + "family without its parent"
        ),
        (64, "lists: a missing page is no end; works that are shown again, and places of others, are renewed"),
        (53, "cache: a named directory belongs to the source that used it first"),
        (70, "fetch: paths in each other, from the root and of folders alone, two fetches, a detached mount"),
        (54, "commands: folders that cannot be named, outputs that are not written, other users' mounts, remounts"),
        (51, "doors: lists that are empty, parents that are never shown, numbers of four digits, pins in two places"),
        (75, "tier: a program for keys that hangs, or is left when the mount ends; the reason why there are no keys"),
        (
            81,
            "tier: fronts in place of a store, lines that are slow for previews, what is removed or not to be brought, objects of one "
                + "source"
        ),
        (
            114,
            "program: caches of other users and links in them, sessions behind links, what the doctor looks at and does not ask, quotes "
                + "in the configuration"
        ),
        (43, "lists: an answer counts for whom it was asked, a list read in part goes on; caches on servers of files"),
        (136, "answers: pages, totals, days and frames that contradict themselves are errors, odd forms are read"),
        (19, "lists: works and authors without records are not requested at each opening"),
        (38, "lists: tags are requested as the service spells them"),
        (
            106,
            "lists: an earlier page once more and one that counts nothing are no end, a doubtful end comes twice, a refresh puts what is "
                + "missing in its place, many new works come in front together"
        ),
        (20, "fs: a folder that lists what was opened changes when a name is added"),
        (6, "commands: offline, a pin keeps what is stored of a list known in part"),
        (28, "catalog: recent pictures are found under another name"),
        (13, "tier: a replacement that waits is one until its end; catalog: an early end is judged at its turn"),
        (37, "doors: what an account saw is its own, folders list what stands above opened directories, Flash files"),
        (18, "cache: a pin is on the disk when its command ends, or fails"),
        (50, "http, catalog: what a reader waits for goes first, nobody fails before its deadline, and learns why"),
        (26, "cache: what the disk refuses is a few lines a minute, and set aside what lies in a database's place"),
        (12, "cache: what has left the index is gone from the disk before it is measured again"),
        (
            72,
            "daily work: pages after an eviction, a cache without its lock, pauses that outlast readers, an unmount that waits for its "
                + "process, what lies in the place of one picture"
        ),
        (
            100,
            "tier: uploads know their store, a reader waits for a lease no longer than for a first byte and not at all for removals, late "
                + "leases are removed, lists end where they say so"
        ),
        (33, "http: a burst of sizes grows at once, slowly at a host that has refused one; a second connection"),
        (6, "catalog: a walk asks for a few sizes first, and for all with the second one in a row"),
        (22, "program: pins end where there is no room; mistakes in rankfs.conf are the next step"),
        (61, "program: quotes after -o; caches of a later version, and without rights; long attributes"),
        (
            89,
            "program: what is pinned, rights that a container lacks, mounts that do not answer, a note on a full disk"
        ),
        (
            264,
            "tier: leases that are declined late are read beside, pictures are brought only if they are not there, a renewal keeps its pages, "
                + "a slow store costs readers no more than the host's first block, nobody waits for slow lines of other machines"
        ),
        (28, "catalog: originals that fail while none comes are no missing ones, and a refused one is alone"),
        (5, "desktop: who reads pictures by name needs no other sizes"),
        (81, "commands: a refusal stops no other path; what is read and not stored; pins of nothing; blanks in paths"),
        (18, "preloads: by name, also where a directory is listed otherwise"),
        (4, "program: a log file that was moved is begun anew"),
        (19, "tier: a wrong object's removal comes before its replacement; uploads that a full disk cannot note"),
        (38, "fs, cache: wrong sizes are forgotten in all listings, films go by versions of pages as pictures do"),
        (49, "lists: all generations of a family, hidden works of a series, kept days, sessions that end unnoticed"),
        (38, "desktop: thumbnails come by name, as windows show them, and PCManFM-Qt waits for those that it shows"),
        (7, "preloads: two more for a reader who has come twice before the next picture was there"),
        (13, "database: a reader leaves nothing beside a file; a mount that opens it meanwhile is no damage"),
        (8, "records: one is asked for again where a session turns out to have ended; offline shows what is stored"),
        (16, "shells: folders in zsh, the operands of `tier warm` and `forget`, a source's own words"),
        (12, "commands: dry runs end with the sentence of the fetch, and walks of folders say how far they are"),
        (7, "fuse: a request that is still under way at its deadline is a line in the log"),
        (4, "render: a process that hangs is ended after the time that the frames of its animation may take"),
        (13, "mount: of several that begin at the same moment on one folder one goes on, and the others are refused"),
        (21, "fuse: signals that end no program leave reads and listings alone"),
        (14, "clock: waits stand still while the machine is suspended"),
        (31, "commands: the kernel drops names that stand for other pictures after a refresh"),
        (4, "http: answers without a type, tunnels that answer with addresses of their own"),
        (4, "fs: df computes no status, and an inode that is opened again keeps the count of its handles"),
        (52, "lists: a work that was uploaded again takes its place in what is stored"),
        (11, "commands: what was never opened is not asked for again"),
        (16, "cache: a mount that does not answer is named, and waited for no longer than one that ends"),
        (21, "program: names that are no secrets, or have blanks; choices of other boards; pins offline"),
        (1, "session: a tab beside a cookie is a blank"),
        (4, "http: a pool that no command wakes is none"),
        (13, "commands: an estimate names what is closed, in the words of the fetch"),
        (15, "fuse: a name is dropped when no lookup in its directory waits"),
        (28, "catalog: entries of a day that one version could not decode are requested by another one"),
        (3, "tier: a key that may not remove objects brings them"),
        (24, "size: texts are searched without the standard library's regular expressions, a megabyte of the program"),
        (5, "fs: a stored folder keeps its time, and tags that look like probes, whether or not it is in memory"),
        (3, "catalog: a new name changes the time of its folder, whatever the clock was before"),
        (3, "cache: a stored pause that is more than a day ahead is over"),
    ]

    /// The same for what is no part of the product.
    static let tools: [Allowance] = [
        (4_453, "one universe of posts, printed by a thin renderer for each service"),
        (54, "series, families and favourites, as the services answer them; the format of frames"),
        (3, "a request is in the log before its client has all of the answer"),
        (27, "new works of followed authors, as the service answers them"),
        (55, "related works and collections, as the service answers them"),
        (76, "pools, as the boards answer them"),
        (52, "options of searches, groups of favourites and what is hot, as the services answer them"),
        (40, "bookmarks by tag and month, and private ones, as the service answers them"),
        (25, "tags of authors, as the service answers them"),
        (5, "any text in place of an answer"),
        (23, "bench: the speed of the machine itself beside the warm figures, and figures for the gate"),
        (26, "a range of a picture's first byte costs no drawing, and what is opaque is filled by rows"),
    ]

    /// The largest circle of files that a module may have; one that is not named here may have none.
    ///
    /// Who opens a circle lowers its number. Who cannot do without a larger one says after the number why.
    static let circles: [String: Int] = [
        "Origin": 4,
        "RankFS": 3,
        "Catalog": 2,
        "ImageCache": 2,
        "Pixiv": 2,
        "rankfs-bench": 2,
    ]

    private func isTool(_ file: Ruler.File) -> Bool { file.path.hasPrefix("\(Package.tools)/") }

    @Test func theProductDoesNotGrow() throws {
        let net = try Ruler.tree.get().files.filter { !isTool($0) }.reduce(0) { $0 + $1.net }
        let bar = Self.product.reduce(0) { $0 + $1.net }
        #expect(net <= bar, "the product has \(net - bar) net lines more than RulerTests.product allows")
    }

    @Test func theToolsDoNotGrow() throws {
        let net = try Ruler.tree.get().files.filter(isTool).reduce(0) { $0 + $1.net }
        let bar = Self.tools.reduce(0) { $0 + $1.net }
        #expect(net <= bar, "the tools have \(net - bar) net lines more than RulerTests.tools allows")
    }

    @Test func circlesDoNotGrow() throws {
        let tree = try Ruler.tree.get()
        for module in Set(tree.files.map(\.module)).sorted() {
            let largest = tree.circles(in: module).first ?? []
            #expect(
                largest.count <= Self.circles[module, default: 1],
                "\(module) has a circle of \(largest.count) files: \(largest.joined(separator: ", "))")
        }
    }

    @Test func barsAreOfModulesAndAllowancesHaveReasons() throws {
        let modules = Set(try Ruler.tree.get().files.map(\.module))
        #expect(Set(Self.circles.keys).subtracting(modules) == [])
        #expect((Self.product + Self.tools).allSatisfy { $0.reason.contains(" ") })
    }
}

/// The counting itself.
@Suite struct RulerCountingTests {
    private func file(_ text: String, path: String = "Sources/Module/File.swift") -> Ruler.File {
        Ruler.File(path: path, text: text)
    }

    @Test func commentsAndBlankLinesAreNoLines() {
        let text = #"""
            /// A comment.
            let address = "https://example.org"  // "another"

            /* one
            two */ let quotes = "\"/*" ; let rest = 1
               /**/
            let last = """
                kept // not
                """
            """#
        #expect(file(text).net == 5)
        #expect(file("").net == 0)
        #expect(file("let a = 1 /* without an end\nlet b = 2").net == 2)
        #expect(file("/*/").net == 1)
    }

    @Test func aCircleIsOfOneModule() {
        let ruler = Ruler(files: [
            file("struct A { let b: B }", path: "Sources/One/A.swift"),
            file("struct B { let c: C }", path: "Sources/One/Deep/B.swift"),
            file("struct C { func f(_ a: A) }", path: "Sources/One/C.swift"),
            file("struct D { let e: E, f: F }", path: "Sources/One/D.swift"),
            file("struct E { let d: D }", path: "Sources/Two/E.swift"),
            file("struct F { let g: G }", path: "Sources/Tools/Three/F.swift"),
            file("struct G { let f: F }", path: "Sources/Tools/Three/G.swift"),
        ])
        #expect(
            ruler.circles(in: "One") == [["Sources/One/A.swift", "Sources/One/C.swift", "Sources/One/Deep/B.swift"]])
        #expect(ruler.circles(in: "Two") == [])
        #expect(ruler.circles(in: "Three").map(\.count) == [2])
    }
}
