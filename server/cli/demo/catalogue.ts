/** The goods of the demo's web shop. Prices in whole cents of its own currency. */
export type Product = { sku: string; name: string; category: string; price_cents: number };

const names: Record<string, [name: string, price_cents: number][]> = {
  coffee: [
    ['Yirgacheffe, washed, 250 g', 1290],
    ['House espresso, 1 kg', 2490],
    ['Decaf from Huila, 250 g', 1190],
    ['Cold brew bags, 8 pieces', 990],
    ['Sampler of five roasts', 2990],
  ],
  grinders: [
    ['Hand grinder, steel burrs', 8900],
    ['Flat burr grinder 64', 34900],
    ['Grinder brush', 690],
  ],
  brewers: [
    ['Pour-over dripper, ceramic', 2490],
    ['Paper filters, 100 pieces', 590],
    ['Moka pot, 6 cups', 3990],
    ['Gooseneck kettle', 7990],
    ['French press, 1 l', 3290],
  ],
  machines: [
    ['Espresso machine, single boiler', 44900],
    ['Espresso machine, dual boiler', 129900],
    ['Descaler, 500 ml', 1190],
  ],
  cups: [
    ['Espresso cups, set of four', 2790],
    ['Travel mug, 350 ml', 2290],
    ['Glass server, 600 ml', 1890],
  ],
};

/** All products, in a fixed order. */
export const products: readonly Product[] = Object.entries(names).flatMap(([category, list]) =>
  list.map(([name, price_cents], index) => ({
    sku: `${category.slice(0, 3).toUpperCase()}-${String(index + 1).padStart(3, '0')}`,
    name,
    category,
    price_cents,
  })),
);

/** Sources of visits, by weight; null is a visit without a referrer. */
export const referrers = [
  [34, null],
  [28, 'https://www.google.com/'],
  [9, 'https://www.bing.com/'],
  [8, 'https://www.instagram.com/'],
  [7, 'https://www.youtube.com/'],
  [6, 'https://news.example.org/coffee-grinders-compared'],
  [5, 'https://duckduckgo.com/'],
  [3, 'https://mail.example.com/'],
] as const;

/** The device of a visit. */
export type Device = { $device_type: string; $os: string; $browser: string; $screen_width: number };

/** Devices by weight. */
export const devices: readonly (readonly [number, Device])[] = [
  [46, { $device_type: 'Mobile', $os: 'iOS', $browser: 'Mobile Safari', $screen_width: 390 }],
  [27, { $device_type: 'Mobile', $os: 'Android', $browser: 'Chrome', $screen_width: 412 }],
  [14, { $device_type: 'Desktop', $os: 'Windows', $browser: 'Chrome', $screen_width: 1920 }],
  [7, { $device_type: 'Desktop', $os: 'Mac OS X', $browser: 'Safari', $screen_width: 1728 }],
  [4, { $device_type: 'Desktop', $os: 'Linux', $browser: 'Firefox', $screen_width: 1920 }],
  [2, { $device_type: 'Tablet', $os: 'iOS', $browser: 'Mobile Safari', $screen_width: 820 }],
];

/** The home of a visitor: the currency, and the value of one euro in it. */
export type Place = { country: string; currency: string; rate: number };

/** Countries by weight. */
export const countries: readonly (readonly [number, Place])[] = [
  [34, { country: 'DE', currency: 'EUR', rate: 1 }],
  [18, { country: 'FR', currency: 'EUR', rate: 1 }],
  [14, { country: 'GB', currency: 'GBP', rate: 0.85 }],
  [13, { country: 'US', currency: 'USD', rate: 1.1 }],
  [9, { country: 'NL', currency: 'EUR', rate: 1 }],
  [7, { country: 'PL', currency: 'PLN', rate: 4.3 }],
  [5, { country: 'SE', currency: 'SEK', rate: 11.2 }],
];

/** Given and family names of customers. */
export const given_names = [
  'Anna',
  'Ben',
  'Chloé',
  'David',
  'Emma',
  'Felix',
  'Grace',
  'Hugo',
  'Ines',
  'Jonas',
  'Katarzyna',
  'Liam',
  'Mia',
  'Noah',
  'Olivia',
  'Paul',
  'Quinn',
  'Rosa',
  'Søren',
  'Tomasz',
  'Uma',
  'Vera',
  'Wim',
  'Yusuf',
  'Zoë',
] as const;
/** Family names of visitors. */
export const family_names = [
  'Andersson',
  'Becker',
  'Costa',
  'Dubois',
  'Evans',
  'Fischer',
  'García',
  'Hoffmann',
  'Ivanov',
  'Janssen',
  'Kowalski',
  'Lefèvre',
  'Müller',
  'Nowak',
  "O'Brien",
  'Petit',
  'Richter',
  'Smith',
  'Taylor',
  'Visser',
  'Weber',
  'Zieliński',
] as const;

export const companies = [
  ['cafe-morgenrot', 'Café Morgenrot', 'DE'],
  ['kontor-7', 'Kontor 7 Coworking', 'DE'],
  ['riverside-books', 'Riverside Books', 'GB'],
  ['la-petite-tasse', 'La Petite Tasse', 'FR'],
  ['hotel-alpenblick', 'Hotel Alpenblick', 'AT'],
  ['studio-noord', 'Studio Noord', 'NL'],
].map(([key, name, country]) => ({ key: key!, name: name!, country: country! }));
