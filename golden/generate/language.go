package generate

import (
	"slices"
	"strings"
)

// language is what the styles must know of a language.
type language struct {
	stop map[string]bool
	// marks go before the definition in a first sentence, besides dashes.
	marks []string
}

// Languages are those with stop words of their own, as BCP 47 tags.
func Languages() []string { return []string{"en", "it", "tr", "uk"} }

// languageOf returns what is known of a language, by its BCP 47 tag. Of others
// no stop words are known.
func languageOf(tag string) language {
	base, _, _ := strings.Cut(strings.ToLower(tag), "-")
	l := language{stop: map[string]bool{}}
	var words string
	switch base {
	case "en":
		words, l.marks = englishStop, []string{" is ", " are ", " was ", " were "}
	case "it":
		words, l.marks = italianStop, []string{" è ", " sono ", " era ", " erano ", " fu ", " furono "}
	case "tr":
		words, l.marks = turkishStop, []string{", "}
	case "uk":
		words, l.marks = ukrainianStop, []string{" це ", " є "}
	}
	for w := range strings.FieldsSeq(words) {
		l.stop[w] = true
	}
	return l
}

// Words that say little of what a text is about, in lower case.
const (
	englishStop = `a about above after all also although an and any are as at be because been before being below between both but by can could
did do does down during each either few for from had has have he her here hers him his how i if in into is it its itself may me
might more most much must my neither no nor not of off on once one only or other our out over own same she should since so some
such than that the their them then there these they this those through to too under until up upon us very was we were what when
where whether which while who whom whose why will with within without would you your`

	italianStop = `a ad agli ai al alla alle allo anche ancora avere aveva avevano che chi ci come con contro cui da dagli dai dal dalla
dalle dallo degli dei del della delle dello dentro di dopo dove e ed era erano essere fino fra fu furono gli ha hanno i il in io la
le lei lo loro lui ma mentre mi molto ne negli nei nel nella nelle nello noi non nostro o ogni oltre per però più poi prima proprio
quale quali quando quanto quella quelle quelli quello questa queste questi questo qui sarà se senza si sia siano sono sopra sotto su
sua sue sugli sui sul sulla sulle sullo suo suoi tra tutti tutto un una uno vi voi è l d c un' dell all nell sull dall quell`

	turkishStop = `ama ancak arasında aynı bazı belki ben bile bir biraz birçok biri birkaç bu buna bunda bundan bunlar bunu bunun burada
çok çünkü da daha de değil diğer diye dolayı en fakat gibi göre hem hangi her hiç için içinde ile ilgili ise kadar karşı kendi kez
ki kim mı mi mu mü nasıl ne neden nerede o olan olarak oldu olduğu olması olmak olup olur on ona onlar onu onun oysa pek rağmen
sadece sanki sonra şekilde şey siz şu tarafından tüm ve veya ya yani yerine yine zaman üzere üzerinde kadar önce`

	ukrainianStop = `а або аби абож адже але б без би біля близько був буде була були було бути в вже від він вона вони воно все всі всіх
вся від втім г де для до додаток дуже є ж же з за завжди зі і із їх її їй й його йому коли котра котрий крім лише майже ми між може
можна на над навіть найбільш нас не нею ним них ні ніж о об один однак одна одне під після по при про проте та так така таке такий
такі також там те тим тільки то тобто того тоді той тому ту у усі усіх ця це цей цим ці цих цього цьому через чи чим що щоб як яка
яке який яких які яким якого якої якою якому яку якій вони своє свої своїх свою своя свій своєї можуть зокрема серед протягом`
)

// about are headings of sections about the article and not its subject, in lower
// case.
var about = strings.Split(strings.ToLower(`References|Notes|Footnotes|See also|External links|Further reading|Bibliography|Sources|Citations|
Примітки|Посилання|Джерела|Література|Див. також|Дивись також|Дивіться також|Виноски|Бібліографія|Зовнішні посилання|Галерея|
Kaynakça|Kaynaklar|Notlar|Ayrıca bakınız|Ayrıca bkz.|Dış bağlantılar|Dipnotlar|Konuyla ilgili yayınlar|Galeri|
Note|Bibliografia|Voci correlate|Altri progetti|Collegamenti esterni|Fonti|Annotazioni`), "|")

// isAbout reports whether a section is about the article and not its subject.
func isAbout(heading string) bool {
	heading = strings.ToLower(strings.TrimSpace(heading))
	return slices.ContainsFunc(about, func(a string) bool { return strings.TrimSpace(a) == heading })
}
