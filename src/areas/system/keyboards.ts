/**
 * The layouts of the console's keyboard, each with its variants: those of xkb-data 2.35, which console-setup reads. A
 * layout that it does not know leaves the keyboard American, without a message.
 */
const known = `
af fa-olpc ps ps-olpc uz uz-olpc
al plisi veqilharxhi
am eastern eastern-alt phonetic phonetic-alt western
ara azerty azerty_digits buckwalter digits mac olpc qwerty qwerty_digits
at mac nodeadkeys
au
az cyrillic
ba alternatequotes unicode unicodeus us
bd probhat
be iso-alternate nodeadkeys oss oss_latin9 wang
bg bas_phonetic bekl phonetic
br dvorak nativo nativo-epo nativo-us nodeadkeys thinkpad
brai left_hand left_hand_invert right_hand right_hand_invert
bt
bw
by intl latin legacy ru
ca eng fr-dvorak fr-legacy ike multi multi-2gr multix
cd
ch de_mac de_nodeadkeys fr fr_mac fr_nodeadkeys legacy
cm azerty dvorak french mmuock qwerty
cn altgr-pinyin mon_manchu_galik mon_todo_galik mon_trad mon_trad_galik mon_trad_manchu mon_trad_todo mon_trad_xibe
  tib tib_asciinum ug
cz bksl dvorak-ucw qwerty qwerty-mac qwerty_bksl rus ucw
de deadacute deadgraveacute deadtilde dsb dsb_qwertz dvorak e1 e2 mac mac_nodeadkeys neo nodeadkeys qwerty ro
  ro_nodeadkeys ru T3 tr us
dk dvorak mac mac_nodeadkeys nodeadkeys winkeys
dz ar azerty-deadkeys ber qwerty-gb-deadkeys qwerty-us-deadkeys
ee dvorak nodeadkeys us
epo legacy
es ast cat deadtilde dvorak mac nodeadkeys winkeys
et
fi classic mac nodeadkeys smi winkeys
fo nodeadkeys
fr afnor azerty bepo bepo_afnor bepo_latin9 bre dvorak geo latin9 latin9_nodeadkeys mac nodeadkeys oci oss oss_latin9
  oss_nodeadkeys us
gb colemak colemak_dh dvorak dvorakukp extd gla intl mac mac_intl pl
ge ergonomic mess os ru
gh akan avn ewe fula ga generic gillbt hausa
gn
gr extended nodeadkeys polytonic simple
hr alternatequotes unicode unicodeus us
hu 101_qwerty_comma_dead 101_qwerty_comma_nodead 101_qwerty_dot_dead 101_qwerty_dot_nodead 101_qwertz_comma_dead
  101_qwertz_comma_nodead 101_qwertz_dot_dead 101_qwertz_dot_nodead 102_qwerty_comma_dead 102_qwerty_comma_nodead
  102_qwerty_dot_dead 102_qwerty_dot_nodead 102_qwertz_comma_dead 102_qwertz_comma_nodead 102_qwertz_dot_dead
  102_qwertz_dot_nodead nodeadkeys qwerty standard
id phonetic phoneticx
ie CloGaelach ogam ogam_is434 UnicodeExpert
il biblical lyx phonetic
in ben ben_baishakhi ben_bornona ben_gitanjali ben_inscript ben_probhat bolnagri eeyek eng guj guru hin-kagapa hin-wx
  iipa jhelum kan kan-kagapa mal mal_enhanced mal_lalitha mar-kagapa marathi olck ori ori-bolnagri ori-wx san-kagapa
  tam tam_tamilnet tam_tamilnet_TAB tam_tamilnet_TSCII tam_tamilnet_with_tam_nums tel tel-kagapa tel-sarala urd-
  phonetic urd-phonetic3 urd-winkeys
iq ku ku_alt ku_ara ku_f
ir ku ku_alt ku_ara ku_f pes_keypad
is dvorak mac mac_legacy
it fur geo ibm intl mac nodeadkeys scn us winkeys
jp dvorak kana kana86 mac OADG109A
jv
ke kik
kg phonetic
kh
kr kr104
kz ext kazrus latin ruskaz
la stea
latam colemak colemak-gaming deadtilde dvorak nodeadkeys
lk tam_TAB tam_unicode us
lt ibm lekp lekpa ratise sgs std us
lv adapted apostrophe ergonomic fkey modern tilde
ma french rif tifinagh tifinagh-alt tifinagh-alt-phonetic tifinagh-extended tifinagh-extended-phonetic tifinagh-
  phonetic
mao
md gag
me cyrillic cyrillicalternatequotes cyrillicyz latinalternatequotes latinunicode latinunicodeyz latinyz
mk nodeadkeys
ml fr-oss us-intl us-mac
mm mnw mnw-a1 shn zawgyi zgt
mn
mt alt-gb alt-us us
mv
my phonetic
ng hausa igbo yoruba
nl mac std us
no colemak dvorak mac mac_nodeadkeys nodeadkeys smi smi_nodeadkeys winkeys
np
ph capewell-dvorak capewell-dvorak-bay capewell-qwerf2k6 capewell-qwerf2k6-bay colemak colemak-bay dvorak dvorak-bay
  qwerty-bay
pk ara snd urd-crulp urd-nla
pl csb dvorak dvorak_altquotes dvorak_quotes dvp legacy qwertz ru_phonetic_dvorak szl
pt mac mac_nodeadkeys nativo nativo-epo nativo-us nodeadkeys
ro std winkeys
rs alternatequotes latin latinalternatequotes latinunicode latinunicodeyz latinyz rue yz
ru bak chm cv cv_latin dos kom legacy mac os_legacy os_winkeys phonetic phonetic_azerty phonetic_dvorak phonetic_fr
  phonetic_winkeys phonetic_YAZHERTY sah srp tt typewriter typewriter-legacy udm xal
se dvorak mac nodeadkeys rus rus_nodeadkeys smi svdvorak swl us us_dvorak
si alternatequotes us
sk bksl qwerty qwerty_bksl
sn
sy ku ku_alt ku_f syc syc_phonetic
tg
th pat tis
tj legacy
tm alt
tr alt f intl ku ku_alt ku_f ot otf otk otkf
tw indigenous saisiyat
tz
ua crh crh_alt crh_f homophonic legacy macOS phonetic rstu rstu_ru typewriter winkeys
us alt-intl altgr-intl chr colemak colemak_dh colemak_dh_iso dvorak dvorak-alt-intl dvorak-classic dvorak-intl
  dvorak-l dvorak-mac dvorak-r dvp euro haw hbs intl mac norman olpc2 rus symbolic workman workman-intl
uz latin
vn fr us
za
`;

const layouts: ReadonlyMap<string, readonly string[]> = new Map(
  known
    .trim()
    .split(/\n(?! )/)
    .map((line) => line.split(/\s+/))
    .map(([name = '', ...variants]) => [name, variants]),
);

/** Names in the keymap index of FreeBSD, whose names the document refers to, that differ from those of XKB. */
const otherLayouts: Readonly<Record<string, string>> = {
  uk: 'gb',
  latinamerican: 'latam',
  'ch-fr': 'ch.fr',
  'ca-fr': 'ca',
  brazilian: 'br',
};
const otherVariants: Readonly<Record<string, string>> = {
  noacc: 'nodeadkeys',
  macbook: 'mac',
  dvorakl: 'dvorak-l',
  dvorakr: 'dvorak-r',
};

export interface Keyboard {
  readonly layout: string;
  readonly variant: string;
}

/** Reads `de`, `de.nodeadkeys` or a name of FreeBSD such as `uk` or `de.noacc.kbd`; undefined when it is unknown. */
export function keyboardOf(value: string): Keyboard | undefined {
  const [first = '', ...rest] = value.replace(/\.kbd$/, '').split('.');
  const [layout = '', ...more] = named(otherLayouts, first).split('.');
  // On FreeBSD, the names of layouts with dead keys end in `acc`. XKB's main layouts have them.
  const parts = [...more, ...rest].filter((part) => part !== 'acc').map((part) => named(otherVariants, part));
  const variant = parts.join('_');
  const variants = layouts.get(layout);
  return variants !== undefined && (variant === '' || variants.includes(variant)) ? { layout, variant } : undefined;
}

/** The other name of a word, which may also be one that every object has, such as `constructor`. */
function named(others: Readonly<Record<string, string>>, word: string): string {
  return Object.hasOwn(others, word) ? (others[word] ?? word) : word;
}

/** The problem with the name of a keyboard layout, with those that there are. */
export function keyboardProblem(value: string): string | undefined {
  if (value === '' || keyboardOf(value) !== undefined) return undefined;
  const [first = ''] = value.split('.');
  const variants = layouts.get(named(otherLayouts, first));
  if (variants === undefined) return `Expected a keyboard layout (${[...layouts.keys()].join(', ')}), got "${value}".`;
  return variants.length === 0
    ? `The keyboard layout ${first} has no variants, got "${value}".`
    : `Expected ${first} alone or with one of its variants after a dot (${variants.join(', ')}), got "${value}".`;
}
