package segment

// The lists of abbreviations, in lower case and without their last full stop;
// several that go together are written without blanks ("т.д").

// general holds for any language: what is written in many of them.
func general() map[class]string {
	return map[class]string{
		opens:   "dr prof mr mrs ms st vs cf ca e.g i.e al.s",
		numbers: "no nr fig vol p pp ch art",
		closes:  "etc al jr sr a.m p.m",
	}
}

func english() map[class]string {
	return map[class]string{
		opens: "dr mr mrs ms messrs prof st mt gen col maj capt lt sgt cpl pvt adm cmdr rev hon pres gov sen rep supt " +
			"vs cf ca e.g i.e viz approx dept univ assn bros ed eds trans esp incl resp",
		numbers: "no nos fig figs eq eqs ref refs tab sec secs ch chap vol vols p pp art par para vv v " +
			"jan feb mar apr jun jul aug sep sept oct nov dec",
		closes: "etc al jr sr inc ltd co corp plc a.m p.m b.c a.d b.c.e c.e ph.d m.d b.a m.a u.s u.k ave blvd rd ibid",
	}
}

func ukrainian() map[class]string {
	return map[class]string{
		opens: "м с смт вул просп пр пров бул бульв пл буд кв під'їзд оф ім гр проф акад доц канд докт кн див напр наприкл " +
			"рис мал табл розд підрозд гл ч вип вид ред упоряд пер перекл стор тел моб факс зав заст ген полк підполк кап лейт серж " +
			"адм св ап о оз г ур ст.ст англ нім фр франц лат грец рос пол ісп італ укр тур араб кит яп рум угор бл близьк пор " +
			"нар помер зб зокр т тт п пп н нац держ обл.р ін.мед мед гол відп тов пан пані ігум митр архиєп єп преп",
		numbers: "№ ст абз",
		closes: "р рр е д ін под т.д т.п т.ін п.н ст.ст тис млн млрд трлн грн коп дол хв сек год см мм км кг мг мл л ц га " +
			"обл р-н н.е до.н.е тощо і.т.д і.т.п та.ін",
	}
}

func turkish() map[class]string {
	return map[class]string{
		opens: "dr doç prof op uzm yrd av sn bn bay bayan bkz krş örn mah cad sok sk bul apt tel faks alm ing fr lat ar far isp it yun rus " +
			"çev ed haz der yay hz st gen alb yzb tğm bnb kd ord öğr gör arş müh mim müd bşk m.ö m.s i.ö i.s t.c a.b.d k.maraş",
		numbers: "no nr s ss c sy md bl şek tab",
		closes:  "vb vs vd yy a.ş şti ltd dk sa sn mg ml gr kg cm mm km lt bkm",
	}
}

func italian() map[class]string {
	return map[class]string{
		opens: "sig sigg sig.ra sig.na dott dr prof avv ing arch geom rag on sen mons don fra ss gen col cap.no ten serg cfr cf es vd " +
			"ca ed trad a.cura via.le l.go c.so p.za p.zza fam",
		numbers: "n nn nr pag pagg p pp fig figg tab cap capp art artt vol voll par parr sez lett gen feb mar apr mag giu lug ago set ott nov dic",
		closes:  "ecc etc a.c d.c s.p.a s.r.l s.n.c sec c.d op.cit ibid al p.s",
	}
}
