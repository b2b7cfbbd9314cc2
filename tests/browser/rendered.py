"""Documents that are hard to show, of our own writing: tables, formulas, two directions.

White space between tags is a part of what they test, so lines are as long as they are.
"""
# ruff: noqa: E501

FRONT = """<front><journal-meta><journal-id journal-id-type="nlm">J Ferr</journal-id>
<journal-title-group><journal-title>Journal of Ferries</journal-title></journal-title-group><issn>1234-5678</issn>
<publisher><publisher-name>River Press</publisher-name></publisher></journal-meta>
<article-meta><article-id pub-id-type="doi">10.1/ferry</article-id><article-id>F17</article-id>
<title-group><article-title>{title}</article-title></title-group>
<contrib-group><contrib><name><surname>Okafor</surname><given-names>Ada</given-names></name><xref ref-type="aff"><sup>1</sup></xref></contrib><contrib><name><surname>Lindqvist</surname><given-names>Bo</given-names></name></contrib></contrib-group>
<aff id="a1"><label>1</label>Institute of Rivers, <country>Norway</country></aff>
<pub-date><day>7</day><month>3</month><year>2021</year></pub-date><volume>4</volume><issue>2</issue><fpage>11</fpage><lpage>19</lpage>
<history><date date-type="received"><day>1</day><month>2</month><year>2020</year></date></history>
<permissions><copyright-statement>Copyright 2021</copyright-statement></permissions>
<abstract><p>A short account of crossings.</p></abstract>
<kwd-group><kwd>heparins</kwd><kwd>pulmonary embolism</kwd><kwd>ferries</kwd></kwd-group></article-meta></front>"""

WIDE = "".join(f"<Y>number {i}</Y>" for i in range(14))
TABLES = f"""<?xml version="1.0" encoding="UTF-8"?>
<article xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:oasis="http://docs.oasis-open.org/ns/oasis-exchange/table">
{FRONT.format(title="Crossings in numbers")}
<body><sec><label>1</label><title>Results</title><p>Patients crossed as <xref>Table 1</xref> says.</p>
<table-wrap><label>Table 1</label><caption><title>Crossings by group</title><p>Values are numbers (per cent).</p></caption>
<table frame="hsides" rules="groups"><colgroup><col align="left"/><col align="center" span="1"/>
<col/></colgroup>
<thead>
<tr><th rowspan="2" align="left">Outcome</th> <th colspan="2" align="center">Heparin</th><th colspan="2" align="center">Placebo</th><td rowspan="2">P value</td></tr>
<tr><th>n</th><th>%</th>
<th>n</th><th>%</th></tr></thead>

<tbody><tr><td>Crossed</td><td>31</td><td>62</td><td>24</td><td>48</td><td>0.16</td></tr>
<tr><td rowspan="2">Turned back</td><td>9</td><td/><td>14</td><td/><td rowspan="2" valign="middle">0.04</td></tr>
<tr><td>3</td><td>6</td><td>2</td><td>4</td></tr>
<tr><td colspan="6"><hr/></td></tr>
<tr><td colspan="2">Total of the <italic>first</italic> and second</td><td>68</td><td colspan="3">no data</td></tr></tbody>
</table><table-wrap-foot><fn><label>a</label><p>Counted at noon.</p></fn></table-wrap-foot></table-wrap>
<table-wrap><label>Table 2</label><caption><title>Boats (CALS)</title></caption>
<oasis:table><oasis:tgroup cols="4"><oasis:colspec colnum="1" colname="c1" align="left"/><oasis:colspec colnum="2" colname="c2" align="center"/>
<oasis:colspec colname="c3" align="right"/><oasis:colspec colname="c4"/><oasis:spanspec spanname="middle" namest="c2" nameend="c3"/>
<oasis:thead><oasis:row><oasis:entry morerows="1">Boat</oasis:entry><oasis:entry spanname="middle">Size</oasis:entry><oasis:entry>Crew</oasis:entry></oasis:row>
<oasis:row><oasis:entry>length</oasis:entry><oasis:entry>width</oasis:entry><oasis:entry>people</oasis:entry></oasis:row></oasis:thead>
<oasis:tbody><oasis:row><oasis:entry>Swan</oasis:entry><oasis:entry colname="c3">7.5</oasis:entry><oasis:entry colname="c4">2</oasis:entry></oasis:row>
<oasis:row><oasis:entry>Heron</oasis:entry><oasis:entry namest="c2" nameend="c4">laid up</oasis:entry></oasis:row></oasis:tbody></oasis:tgroup></oasis:table></table-wrap>
<table-wrap><label>Table 3</label><table><thead><tr><th/>{WIDE.replace("Y", "th")}</tr></thead><tbody><tr><th>Boats</th>{WIDE.replace("Y", "td")}</tr></tbody></table></table-wrap>
<list list-type="order"><list-item><p>Board.</p></list-item><list-item><p>Cross.</p></list-item></list>
<list list-type="alpha-lower"><list-item><p>by day</p></list-item>
<list-item><p>by night</p></list-item></list>
<fig><label>Figure 1</label><caption><p>The <bold>Swan</bold>.</p></caption><graphic xlink:href="swan-g001"/></fig>
<fig><label>Figure 2</label><caption><p>The Heron.</p></caption><graphic xlink:href="../../secret.png"/></fig>
</sec></body></article>"""

FORMULAS = f"""<?xml version="1.0" encoding="UTF-8"?>
<article xmlns:mml="http://www.w3.org/1998/Math/MathML">{FRONT.format(title="Formulas of the river")}
<body><sec><title>Model</title>
<p>A third of the way, <inline-formula><mml:math><mml:mfrac><mml:mn>1</mml:mn><mml:mn>3</mml:mn></mml:mfrac></mml:math></inline-formula>,
took 10<sup>3</sup> seconds in H<sub>2</sub>O; see <inline-formula><mml:math>
<mml:msup> <mml:mi>x</mml:mi> <mml:mn>2</mml:mn> </mml:msup></mml:math></inline-formula> and
<inline-formula><mml:math><mml:msubsup><mml:mi mathvariant="bold">v</mml:mi><mml:mn>0</mml:mn><mml:mn>12</mml:mn></mml:msubsup></mml:math></inline-formula>.</p>
<disp-formula><label>(1)</label><mml:math display="block"><mml:mi>s</mml:mi><mml:mo>=</mml:mo><mml:mfenced open="[" close="]"><mml:mrow>
<mml:munderover><mml:mo>\u2211</mml:mo><mml:mrow><mml:mi>i</mml:mi><mml:mo>=</mml:mo><mml:mn>1</mml:mn></mml:mrow><mml:mi>n</mml:mi></mml:munderover>
<mml:msqrt><mml:msub><mml:mi>\U0001d4ab</mml:mi><mml:mi>i</mml:mi></mml:msub></mml:msqrt></mml:mrow></mml:mfenced><mml:mo>/</mml:mo>
<mml:mtable columnalign="left"><mml:mtr><mml:mtd><mml:mn>7</mml:mn></mml:mtd><mml:mtd><mml:mn>8</mml:mn></mml:mtd></mml:mtr></mml:mtable></mml:math></disp-formula>
<p>In TeX <inline-formula><tex-math>\\frac{{1}}{{3}} < x^2</tex-math></inline-formula> says so, too, and
<inline-formula><alternatives><mml:math><mml:mi>\u03b1</mml:mi></mml:math><tex-math>\\alpha</tex-math></alternatives></inline-formula> is in two forms.
<mml:math><mml:mi onclick="alert(1)" href="javascript:alert(2)">y</mml:mi><mml:script>alert(3)</mml:script> stray <mml:maction actiontype="toggle"><mml:mn>4</mml:mn></mml:maction></mml:math></p>
</sec></body></article>""".replace("< x^2", "&lt; x^2")

MIXED = f"""<?xml version="1.0" encoding="UTF-8"?>
<article xml:lang="en">{FRONT.format(title="Crossing the river, عبور النهر")}
<body><sec xml:lang="ar"><title>عبور النهر بالعبّارة</title>
<p>تعبر العبّارة Heron النهر 3 مرات في اليوم (انظر <italic>Table 1</italic>)، ثم تعود.</p>
<p>Heron هي أقدم عبّارة في المدينة.</p>
<p>This paragraph is in English, within an Arabic section.</p>
<table-wrap><label>جدول 1</label><table><thead><tr><th>القارب</th><th>الطول</th><th>السنة</th></tr></thead>
<tbody><tr><td>البجعة</td><td>7.5 m</td><td>1998</td></tr><tr><td colspan="2">Heron القديم</td><td>1974</td></tr></tbody></table></table-wrap>
<list list-type="order"><list-item><p>اصعد</p></list-item><list-item><p>اعبر</p></list-item></list></sec>
<sec><title>In English</title><p>The word <named-content xml:lang="ar">عبّارة</named-content> means ferry; its plural
<named-content xml:lang="ar">عبّارات</named-content> (4) is regular.</p>
<p>שלום, the ferryman said.</p><p dir="rtl">Set from the right by its mark-up.</p></sec>
</body></article>"""

IEEE = """<article><fno>C1001</fno><fm><hdr><hdr1><ti>IEEE COMPUTER</ti><crt>(c) 1999</crt></hdr1></hdr>
<tig><atl>Chips on rivers</atl></tig><au><fnm>Eve</fnm><snm>Byrd</snm></au></fm><bdy><sec><st>Introduction</st>
<p>A chip <fr><nu>1</nu><de>3</de></fr> the size.</p><ss1><st>History</st><ti>Old times</ti><p>Long ago.</p>
<numeric-list><li><p>sand</p></li><li><p>silicon</p></li></numeric-list></ss1>
<tbl><title>Sizes</title><tgroup cols="3"><colspec colname="a"/><colspec colname="b"/><colspec colname="c"/>
<thead><row><entry>Year</entry><entry namest="b" nameend="c">Nodes</entry></row></thead>
<tbody><row><entry>1999</entry><entry>180</entry><entry>250</entry></row></tbody></tgroup></tbl></sec></bdy></article>"""

DOCUMENTS = {"tables": TABLES, "formulas": FORMULAS, "mixed": MIXED, "ieee": IEEE}
