/// Titles, names and tags: ordinary ones put together from words, and the strange ones that file names must survive.
enum Titles {
    /// Titles that break naive file naming; each has turned up somewhere or could.
    static let strange: [String] = [
        "", ".", "..", "...", ".hidden", "untitled", "無題", "無題", "練習", "練習", "。。。", ".。o○",
        "紅/事/変。", "a/b/c", "C:\\Users\\絵", "What? \"Yes\" <or> |no|", "12:34 * 56", "100% & more; $HOME `id`",
        " 前に空白", "後ろに空白 ", "　全角の空白　", "末尾の点...", "-rf", "--help", "~", "CON", "nul.jpg",
        "改行が\nある", "タブ\tと\u{7}ベル", "逆\u{202E}gpj.向き", "左\u{200F}右\u{2066}印", "見え\u{200B}ない\u{FEFF}字",
        "e\u{301}toile (NFD)", "étoile (NFC)", "か\u{3099}き\u{3099}く\u{3099}", "がぎぐ", "Å\u{212B}A\u{30A}",
        "👩‍👩‍👧‍👦家族", "🏳️‍🌈🧑🏽‍🚀✨", "🐈‍⬛🌙", "Ｆｕｌｌ　Ｗｉｄｔｈ", "ﾊﾝｶｸ ｶﾅ",
        "ทะเลยามเช้า", "บ้านริมน้ำ", "السماء الزرقاء", "مدينة الليل", "Ночной поезд", "Ёжик в тумане", "봄의 정원", "한밤의 도시",
        "夜空中最亮的星", "龍的傳人", "𠮷野家の𩸽", "Ω≈ç√∫˜µ≤≥÷", "z̷̢a̴͖l̵̗g̶͈o̷̼", "%2e%2e%2f", "title.jpg", "title.png.jpg",
        "とても長い題名というものは、ファイル名の長さの限りを越えてしまうことがある",
        "The quick brown fox jumps over the lazy dog, and then, having nothing better to do, it does so again",
        String(repeating: "長い題名", count: 33) + "あい",  // 402 bytes of UTF-8
        String(repeating: "👨‍👩‍👧‍👦", count: 12),
        "&amp; &lt;b&gt; &#39;", "null", "false", "0", "001", "NaN", "\u{0}終わり", "[1/3] 旅の始まり", "(新)", "【告知】冬の本",
    ]

    private static let whens = ["朝の", "真夜中の", "春の", "夏の終わりの", "秋の", "冬の", "雨上がりの", "遠い", "静かな", "青い", "忘れられた", "空飛ぶ"]
    private static let whats = ["海", "街", "森", "図書館", "猫", "灯台", "列車", "庭", "金魚", "星座", "屋上", "喫茶店", "魔女", "花火", "約束"]
    private static let adjectives = ["Quiet", "Silver", "Last", "Hidden", "Summer", "Paper", "Electric", "Slow"]
    private static let nouns = ["Harbor", "Garden", "Letter", "Signal", "Orbit", "Lantern", "Winter", "Machine"]
    private static let chinese = ["山雨欲來", "月下獨酌", "江南春", "長安夜", "白露", "青花瓷", "雪國", "星河"]
    private static let korean = ["작은 마을", "여름밤", "고양이와 나", "비 오는 날", "달빛"]
    private static let russian = ["Тихий двор", "Последний трамвай", "Зимнее солнце", "Море"]
    private static let arabic = ["قمر الصحراء", "باب قديم", "نهر"]
    private static let thai = ["ดอกไม้", "สายฝน"]

    /// An ordinary title.
    static func ordinary(_ chance: inout Chance) -> String {
        switch chance.below(20) {
        case 0...9: chance.pick(whens) + chance.pick(whats)
        case 10: chance.pick(whats) + "【\(chance.within(1...180))】"
        case 11: "\(chance.within(1...31))日目、" + chance.pick(whats)
        case 12...14: chance.pick(adjectives) + " " + chance.pick(nouns)
        case 15: chance.pick(chinese)
        case 16: chance.pick(korean)
        case 17: chance.pick(russian)
        case 18: chance.pick(arabic)
        default: chance.pick(thai)
        }
    }

    private static let syllables = [
        "あ", "か", "さ", "な", "ま", "ゆ", "り", "と", "み", "の", "ki", "ra", "mo", "su", "ne", "ha", "トト", "ミル", "白", "月",
    ]
    private static let suffixes = ["", "", "", "@お仕事募集中", "＠新刊", "/Nemo", "⛄", "🌸", "_art", "先生"]

    /// A pen name.
    static func author(_ chance: inout Chance) -> String {
        let count = chance.within(2...4)
        var name = ""
        for _ in 0..<count {
            name += chance.pick(syllables)
        }
        return name + chance.pick(suffixes)
    }

    private static let words = [
        "オリジナル", "風景", "背景", "女の子", "猫", "空", "海", "夜", "制服", "眼鏡", "ファンタジー", "漫画", "創作", "落書き", "original",
        "landscape",
        "星", "花", "雨", "機械", "竜", "魔法", "ふつくしい", "なにこれ素敵", "a,b", "水彩",
    ]

    /// One to ten tags, none twice.
    static func tags(_ chance: inout Chance, kind: String) -> [String] {
        var tags: [String] = kind.isEmpty ? [] : [kind]
        for _ in 0..<chance.within(1...8) {
            let tag = chance.pick(words)
            if !tags.contains(tag) { tags.append(tag) }
        }
        if chance.oneIn(3) {
            tags.append("オリジナル\(chance.pick([100, 1000, 5000, 10000]))users入り")
        }
        return tags
    }
}
