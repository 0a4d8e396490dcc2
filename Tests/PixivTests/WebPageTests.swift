import Pixiv
import Rankings
import Testing

/// Addresses of web pages that are about a work.
@Suite struct WebPageTests {
    @Test(
        arguments: [
            ("https://www.pixiv.net/artworks/97973029", 97_973_029),
            ("https://www.pixiv.net/en/artworks/97973029", 97_973_029),
            ("http://pixiv.net/artworks/5#top", 5),
            ("https://www.pixiv.net/member_illust.php?mode=medium&illust_id=5", 5),
            ("https://www.pixiv.net/member_illust.php?illust_id=5&illust_id=6", 5),
            ("https://www.pixiv.net/member_illust.php?id=5", nil), ("https://www.pixiv.net/users/5", nil),
            ("https://www.pixiv.net/artworks/", nil), ("https://www.pixiv.net/artworks/05", nil),
            ("https://www.pixiv.net/artworks/5/6", nil), ("https://www.pixiv.net/artworks/-5", nil),
            ("https://www.pixiv.net.evil.example/artworks/5", nil),
            ("https://evil.example/www.pixiv.net/artworks/5", nil),
            ("https://user@www.pixiv.net/artworks/5", nil), ("https://www.pixiv.net:443/artworks/5", nil),
            ("https://www.pixiv.net/artworks/99999999999999999999", nil), ("5", nil), ("", nil),
        ] as [(String, Int64?)])
    func namesItsWork(page: String, work: Int64?) {
        #expect(PixivPlugIn().description.work(page)?.rawValue == work)
    }
}
