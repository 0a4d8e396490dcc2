import Rankings
import Sourcing
import Testing

@testable import Pixiv

@Suite("Captions as plain text")
struct PlainTextTests {
    @Test(
        "tags, links and references",
        arguments: [
            ("", ""), ("a", "a"), ("a<br>b<br/>c<br />d<BR >e", "a\nb\nc\nd\ne"), ("a<br />\r\nb\nc", "a\nb\nc"),
            ("<strong>a</strong> <i class=\"x>y\">b</i>", "a b"),
            ("a &amp;&lt;&gt;&quot;&#39;&#x3042;&#X3042;&#12354;", "a &<>\"'あああ"),
            ("a&nbsp;b", "a b"), ("&amp;lt;", "&lt;"),
            ("&hearts; & &; &#; &#x; &#xg; &#-1; &amp", "&hearts; & &; &#; &#x; &#xg; &#-1; &amp"),
            ("&#0;&#xD800;&#x110000;", "\u{FFFD}\u{FFFD}\u{FFFD}"), ("1 < 2 <3 <", "1 < 2 <3 <"), ("a<b", "a<b"),
            ("a<!-- x -->b", "ab"), ("a\u{0}\u{1B}[1mb&#7;", "a[1mb"), ("　a　\n \n", "　a"),
            (
                "<a href=\"/jump.php?https%3A%2F%2Fexample.net%2Fa%3Fb%3D1%26c\" target=\"_blank\">here</a>!",
                "here (https://example.net/a?b=1&c)!"
            ),
            ("<a href=\"/jump.php?url=https%3A%2F%2Fexample.net\">here</a>", "here (https://example.net)"),
            ("<a href=\"/jump.php?https%3A%2F%2Fexample.net%2F\">https://example.net/</a>.", "https://example.net/."),
            ("<a href='https://example.net/?a&amp;b'>x</a>", "x (https://example.net/?a&b)"),
            ("<a target=_blank href=https://example.net/ >x</a>", "x (https://example.net/)"),
            ("<a href=\"/artworks/5\">x</a>", "x (https://www.pixiv.net/artworks/5)"),
            ("<a href=\"https://example.net\"></a>", "https://example.net"),
            ("<a href=\"javascript:x\">x</a>", "x"), ("<a href=\"/jump.php?javascript%3Ax\">x</a>", "x"),
            ("<a href>x</a><a>y</a>", "xy"),
            ("<a = href=\"https://example.net\">x</a>", "x (https://example.net)"),
            (
                "<a href=\"https://example.net/1\">x<a href=\"https://example.net/2\">y",
                "x (https://example.net/1)y (https://example.net/2)"
            ),
            ("</a></a>x</strong></br>y", "x\ny"), ("<a href=\"https://example.net>x</a>", "x (https://example.net)"),
            ("<a title=\"x>y", "y"),
            ("<a href=\"/jump.php?https%3A%2F%2Fe.net%2F%zz%0A%E3%81\">x</a>", "x (https://e.net/%zz\u{FFFD})"),
        ])
    func text(html: String, text: String) {
        #expect(PlainText.fromHTML(html) == text)
    }

    @Test("length is bounded, and nonsense ends")
    func bounds() {
        for part in ["x", "あ", "<", "<a", "<a href=\"https://e.net\">", "&#", "<br>", "</a", "&amp;", "<a \"'>"] {
            let text = PlainText.fromHTML(String(repeating: part, count: 200_000))
            #expect(text.unicodeScalars.count <= 2 * PixivLimits.captionCharacters, "\(part)")
        }
    }

    @Test("every byte that is not unreserved is encoded, and comes back")
    func percent() {
        #expect(PercentCoding.encode("aZ09-._~") == "aZ09-._~")
        #expect(PercentCoding.encode("a/b?c#d%e f+g&h=i") == "a%2Fb%3Fc%23d%25e%20f%2Bg%26h%3Di")
        #expect(PercentCoding.encode("初音ミク\n\u{0}") == "%E5%88%9D%E9%9F%B3%E3%83%9F%E3%82%AF%0A%00")
        for text in ["", "初音ミク (VOCALOID) 100%", "%zz", "a\u{10FFFF}"] {
            #expect(PercentCoding.decode(PercentCoding.encode(text)) == text)
        }
        #expect(PercentCoding.decode("%e3%81%82%zz%4") == "あ%zz%4")
    }
}
