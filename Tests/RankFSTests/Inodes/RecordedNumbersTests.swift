import Catalog
import Fuse
import Rankings
import Testing

@testable import RankFS

/// Inode numbers as they were when they were promised: backup programs read a file again if its number changes.
///
/// What stands here was told by an earlier version. A number that differs is a broken promise, not an old test.
@Suite(.timeLimit(.minutes(1))) struct RecordedNumbersTests {
    private static let user = UserID(rawValue: 5)

    /// Everything that the tree can hold, once.
    private func fill(_ bench: Workbench) throws {
        bench.add(try Film(count: 2))
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(3))
        bench.source.setRanking(.daily, Workbench.newest, Workbench.entries(2, from: 2001))
        bench.source.setAuthor(UserID(rawValue: 11), [Workbench.work(1001)])
        bench.source.set { state in
            state.signIn = .signedIn(Self.user)
            state.hits["風景"] = [Workbench.work(60)]
            state.bookmarks = [Workbench.work(61)]
            state.followed = [NamedAuthor(id: UserID(rawValue: 11), name: "Ann")]
        }
    }

    @Test func everyPathHasTheNumberThatItHad() async throws {
        let bench = try Workbench()
        try fill(bench)
        for (path, number) in Self.recorded {
            let found = try await bench.stat(path).inode
            #expect(found == number, "\(path)")
        }
    }

    @Test func furtherNamesAreThoseOfTheSameInodes() async throws {
        let bench = try Workbench()
        try fill(bench)
        let path = "ranking/daily/2024-05-01/002-Title 1002.jpg"
        let picture = try await bench.stat(path)
        _ = try await bench.contents(picture.inode)
        await bench.waitUntilStored(1002)
        #expect(try await bench.stat("recent/2024-05-01_daily_002-Title 1002.jpg") == picture)
        #expect(try await bench.stat("random.jpg") == picture)
        let bookmarked = try await bench.stat("users/5/bookmarks/61-Title 61.jpg")
        #expect(try await bench.stat("bookmarks/61-Title 61.jpg") == bookmarked)
        // As the root lists it, since the choice is made when it is looked up.
        #expect(Node.file(RandomPicture()).inodeNumber == 9_481_299_322_009_012_598)
    }

    @Test func originalsHaveTheNumberThatTheyHad() async throws {
        let bench = try Workbench(.init(view: ListingView(rendition: .original)))
        try fill(bench)
        for (path, number) in Self.originals {
            let found = try await bench.stat(path).inode
            #expect(found == number, "\(path)")
        }
    }

    @Test func sharedThumbnailsHaveTheNumberThatTheyHad() {
        func number(_ directory: SharedThumbnailsDirectory) -> UInt64 { Node.directory(directory).inodeNumber }
        let day = DayDirectory(.daily, Workbench.day)
        #expect(number(SharedThumbnailsDirectory(of: day)) == 3_112_528_327_986_384_382)
        #expect(number(SharedThumbnailsDirectory(of: day, .large)) == 4_443_346_712_107_484_540)
        let latest = LatestDirectory(mode: .daily)
        #expect(number(SharedThumbnailsDirectory(of: latest, .normal)) == 13_648_704_296_703_114_587)
    }

    // MARK: -

    private static let originals: [(String, UInt64)] = [
        ("ranking/daily/2024-05-01/001-Title 1001.png", 11_075_578_539_219_071_151),
        ("works/77/ugoira.zip", 5_534_923_941_711_193_287),
    ]

    private static let recorded: [(String, UInt64)] = [
        ("ranking", 13_632_996_283_026_602_196),
        ("ranking/daily", 14_965_123_591_677_837_231),
        ("ranking/daily/latest", 18_251_140_940_619_955_925),
        ("ranking/daily/2024-05-01", 14_965_123_078_642_285_974),
        ("ranking/daily/2024-05-01/001-Title 1001.jpg", 11_075_578_539_217_746_400),
        ("ranking/daily/latest/002-Title 2002.jpg", 6_284_395_049_071_198_826),
        ("ranking/daily_r18", 16_469_521_911_811_163_962),
        ("by-date", 9_336_852_004_916_688_403),
        ("by-date/daily", 15_912_820_837_193_183_569),
        ("by-date/daily/2024", 3_915_464_548_698_019_742),
        ("by-date/daily/2024/05", 15_696_654_431_449_375_636),
        ("by-date/daily/2024/05/2024-05-01", 15_696_654_552_872_938_201),
        ("by-date/daily/2007/10/2007-10-01", 11_968_795_512_466_281_230),
        ("users", 370_136_491_710_060_621),
        ("users/11", 3_480_592_661_853_789_928),
        ("users/11/profile.json", 124_664_858_061_112_655),
        ("users/11/avatar.jpg", 9_584_740_931_501_509_555),
        ("users/11/1001-Title 1001.jpg", 3_481_282_507_754_705_959),
        ("users/5/bookmarks", 1_455_507_777_092_249_451),
        ("users/5/bookmarks/61-Title 61.jpg", 1_455_788_579_287_475_558),
        ("users/@Author", 11_430_440_059_500_700_461),
        ("bookmarks", 2_128_946_026_434_537_800),
        ("following", 15_919_584_253_996_094_130),
        ("following/11-Ann", 6_372_077_000_252_691_531),
        ("related", 3_817_478_018_078_514_492),
        ("related/77", 7_097_866_680_582_229_662),
        ("author-tags", 585_462_458_520_319_162),
        ("collections", 13_724_878_744_398_839_884),
        ("feed", 5_197_301_280_164_722_960),
        ("works", 5_549_755_096_408_309_356),
        ("works/77", 5_534_302_684_202_611_641),
        ("works/77/info.json", 14_591_514_837_889_180_909),
        ("works/77/ugoira.zip", 5_534_923_941_711_193_287),
        ("works/77/ugoira.mkv", 2_422_669_433_126_248_411),
        ("works/77/ugoira.webp", 11_568_669_018_034_331_849),
        ("works/77/p0.png", 5_534_923_941_711_198_981),
        ("search", 8_631_450_838_744_975_835),
        ("search/風景", 6_675_831_221_787_290_043),
        ("search/風景/60-Title 60.jpg", 6_676_586_447_320_912_228),
        ("search/100% #a", 6_254_743_825_077_464_749),
        ("recent", 7_635_107_842_424_250_299),
        (".rankfs", 2_086_505_476_327_339_360),
        (".rankfs/status.json", 11_275_045_080_207_377_309),
        (".rankfs/metrics", 980_092_848_057_602_715),
        (".rankfs/version", 12_288_086_823_430_182_894),
        (".rankfs/nothing-stored.jpg", 12_277_689_136_924_141_274),
        ("CACHEDIR.TAG", 2_099_679_429_669_653_281),
        (".trackerignore", 3_880_270_462_229_739_545),
        (".xdg-volume-info", 3_010_271_638_089_375_404),
    ]
}
