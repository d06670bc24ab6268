/**
 * Features of typical houses in the Northwest, selected from the values in `lookups.csv`, the most common
 * first. The names are those of fields, or of lookups that several fields share.
 */
// biome-ignore format: words
export const LOOKUP_CHOICES = {
  Levels: ['One', 'Two', 'Three Or More', 'Multi/Split', 'Tri-Level', 'One and One Half'],
  ArchitecturalStyle: [
    'Ranch', 'Craftsman', 'Traditional', 'Contemporary', 'Bungalow', 'Split Level', 'Mid-Century Modern', 'Farmhouse', 'Victorian', 'Tudor', 'Cabin',
    'A-Frame',
  ],
  ConstructionMaterials: [
    'Frame', 'Wood Siding', 'Vinyl Siding', 'Brick', 'Fiber Cement', 'Stone Veneer', 'HardiPlank Type', 'Lap Siding', 'Stucco', 'Brick Veneer', 'Log',
    'Concrete',
  ],
  Roof: ['Composition', 'Shingle', 'Asphalt', 'Metal', 'Tile', 'Shake', 'Flat'],
  FoundationDetails: ['Concrete Perimeter', 'Slab', 'Block', 'Raised', 'Stone'],
  Basement: ['None', 'Full', 'Finished', 'Partially Finished', 'Daylight', 'Crawl Space', 'Unfinished', 'Walk-Out Access', 'Exterior Entry', 'Sump Pump'],
  Flooring: ['Carpet', 'Hardwood', 'Luxury Vinyl', 'Tile', 'Laminate', 'Vinyl', 'Engineered Hardwood', 'Ceramic Tile', 'Bamboo', 'Cork', 'Concrete'],
  Appliances: [
    'Dishwasher', 'Microwave', 'Refrigerator', 'Range', 'Disposal', 'Washer', 'Dryer', 'Gas Range', 'Electric Range', 'Double Oven', 'Gas Water Heater',
    'Stainless Steel Appliance(s)', 'Water Softener', 'Wine Cooler',
  ],
  InteriorFeatures: [
    'Walk-In Closet(s)', 'Kitchen Island', 'Pantry', 'Ceiling Fan(s)', 'Granite Counters', 'Vaulted Ceiling(s)', 'Open Floorplan', 'High Speed Internet',
    'Breakfast Bar', 'Smart Thermostat', 'Double Vanity', 'Wet Bar', 'Natural Woodwork', 'His and Hers Closets',
  ],
  ExteriorFeatures: [
    'Rain Gutters', 'Lighting', 'Garden', 'Private Yard', 'Fire Pit', 'Dog Run', 'Balcony', 'RV Hookup', 'Outdoor Kitchen', 'Dock', 'Tennis Court(s)',
  ],
  LotFeatures: [
    'Level', 'Landscaped', 'Corner Lot', 'Cul-De-Sac', 'Sprinklers In Front', 'Sprinklers In Rear', 'City Lot', 'Few Trees', 'Many Trees', 'Gentle Sloping',
    'Views', 'Secluded', 'Near Public Transit', 'Waterfront',
  ],
  ParkingFeatures: [
    'Attached', 'Garage Door Opener', 'Driveway', 'Off Street', 'Concrete', 'Detached', 'RV Access/Parking', 'Carport', 'Alley Access', 'On Street',
    'Electric Vehicle Charging Station(s)', 'Workshop in Garage',
  ],
  PatioAndPorchFeatures: ['Patio', 'Deck', 'Covered', 'Front Porch', 'Porch', 'Rear Porch', 'Wrap Around', 'Screened'],
  PoolFeatures: ['In Ground', 'Heated', 'Pool Cover', 'Above Ground', 'Private', 'Community', 'Salt Water', 'Gunite'],
  SpaFeatures: ['Heated', 'Above Ground', 'Private', 'Community', 'In Ground'],
  LaundryFeatures: ['Main Level', 'Laundry Room', 'In Basement', 'Upper Level', 'Electric Dryer Hookup', 'Gas Dryer Hookup', 'Sink', 'In Garage'],
  Heating: ['Forced Air', 'Natural Gas', 'Electric', 'Heat Pump', 'Central', 'Baseboard', 'Ductless', 'Radiant Floor', 'Wood Stove', 'Pellet Stove', 'Propane'],
  Cooling: ['Central Air', 'None', 'Heat Pump', 'Ductless', 'Window Unit(s)', 'Ceiling Fan(s)', 'Evaporative Cooling', 'Whole House Fan'],
  Sewer: ['Public Sewer', 'Septic Tank', 'Private Sewer', 'Shared Septic'],
  WaterSource: ['Public', 'Well', 'Private', 'Shared Well', 'Spring'],
  Utilities: [
    'Electricity Connected', 'Water Connected', 'Sewer Connected', 'Natural Gas Connected', 'Cable Available', 'Phone Available', 'Underground Utilities',
    'Propane',
  ],
  View: [
    'Neighborhood', 'Mountain(s)', 'Territorial', 'City', 'Trees/Woods', 'Valley', 'Lake', 'River', 'City Lights', 'Golf Course', 'Orchard', 'Vineyard',
    'Panoramic',
  ],
  AccessibilityFeatures: [
    'Accessible Entrance', 'Accessible Bedroom', 'Accessible Full Bath', 'Accessible Doors', 'Accessible Approach with Ramp', 'Stair Lift', 'Visitable',
  ],
  SpecialListingConditions: ['Standard', 'Trust', 'Probate Listing', 'Short Sale', 'Real Estate Owned', 'Auction', 'HUD Owned'],
  MemberDesignation: [
    "Accredited Buyer's Representative / ABR", 'Certified Residential Specialist / CRS', 'Graduate, REALTOR Institute / GRI',
    'Seller Representative Specialist / SRS', 'Accredited Land Consultant / ALC',
  ],
  Languages: ['English', 'Spanish', 'Vietnamese', 'Portuguese', 'Russian', 'Ukrainian', 'Japanese', 'Korean', 'German', 'Tagalog', 'American Sign Language'],
  SyndicateTo: ['Zillow/Trulia', 'Realtor.com', 'Homes.com', 'ListHub'],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** Kinds of property, with their share of a thousand listings and their subtypes, the most common first. */
export const PROPERTY_KINDS = [
  {
    type: 'Residential',
    share: 770,
    subTypes: [
      'Single Family Residence',
      'Single Family Residence',
      'Condominium',
      'Townhouse',
      'Manufactured On Land',
      'Cabin',
    ],
  },
  {
    type: 'Residential Lease',
    share: 70,
    subTypes: ['Single Family Residence', 'Apartment', 'Condominium', 'Townhouse'],
  },
  { type: 'Land', share: 60, subTypes: ['Unimproved Land', 'Agriculture', 'Ranch'] },
  { type: 'Residential Income', share: 40, subTypes: ['Duplex', 'Triplex', 'Quadruplex', 'Multi Family'] },
  { type: 'Manufactured In Park', share: 20, subTypes: ['Manufactured Home', 'Mobile Home'] },
  {
    type: 'Commercial Sale',
    share: 18,
    subTypes: ['Office', 'Retail', 'Warehouse', 'Mixed Use', 'Industrial', 'Hotel/Motel'],
  },
  { type: 'Farm', share: 10, subTypes: ['Farm', 'Ranch', 'Agriculture'] },
  { type: 'Commercial Lease', share: 8, subTypes: ['Office', 'Retail', 'Warehouse'] },
  { type: 'Business Opportunity', share: 4, subTypes: ['Business', 'Retail'] },
] as const

export type PropertyType = (typeof PROPERTY_KINDS)[number]['type']
